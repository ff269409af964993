const blocks = [...'▁▂▃▄▅▆▇█']

/** Draws numbers as at most `width` bars. If there are more numbers, each bar is the sum of several. A zero has no bar. */
export function sparkline(values: readonly number[], width: number): string {
  const perBar = Math.max(1, Math.ceil(values.length / Math.max(1, width)))
  const bars = Array.from({ length: Math.ceil(values.length / perBar) }, (_, bar) =>
    values.slice(bar * perBar, (bar + 1) * perBar).reduce((sum, value) => sum + value, 0),
  )
  const highest = Math.max(...bars)
  return bars.map((bar) => (bar === 0 ? ' ' : blocks[Math.ceil((bar / highest) * blocks.length) - 1])).join('')
}
