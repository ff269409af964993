// Draws what each request costs with more users, relative to the fewest: a bar for each number of users, and a line at the bound.
import type { Figure, Run } from '../../test/bench/support/results.ts'
import { margin, rect, round, svg, text, width } from './svg.ts'

const left = margin
const barHeight = 20
const gap = 12
const head = 58
/** The ratio at the right edge of the bars. */
const most = 2
const scale = (ratio: number) => left + (Math.min(ratio, most) / most) * (width - left - 168)

interface Bar {
  users: string
  ratio: number
}

/** The figures with a bound, of each request in the order of the run. */
function barsOf({ figures }: Run): Map<string, Bar[]> {
  const bars = new Map<string, Bar[]>()
  for (const { what, ratio, bound } of figures) {
    const [, deed, users] = /^(.+) at ([\d,]+) users$/.exec(what) ?? []
    if (deed === undefined || users === undefined || ratio === undefined || bound === undefined) continue
    bars.set(deed, [...(bars.get(deed) ?? []), { users, ratio }])
  }
  return bars
}

export function drawScalePicture(run: Run | undefined): string {
  const rows = run ? [...barsOf(run)] : []
  const bound = run?.figures.find((figure: Figure) => figure.bound !== undefined)?.bound ?? 1
  const parts: string[] = []
  let y = head
  for (const [deed, bars] of rows) {
    parts.push(text({ x: left, y: y + 12, className: 'head' }, deed))
    y += 20
    for (const { users, ratio } of bars) {
      const end = scale(ratio)
      parts.push(rect({ x: left, y, width: round(end - left), height: barHeight - 3 }, ratio > bound ? 'bar-bad' : 'bar-new', 2))
      parts.push(
        text({ x: end + 8, y: y + 13, className: 'quiet' }, `${ratio.toFixed(2)}× with ${users.replace(',000,000', ' million')}`),
      )
      y += barHeight
    }
    y += gap
  }
  const line = (ratio: number) => round(scale(ratio))
  const label = 'What each request costs with more users, relative to the cost with a thousand users'
  const rails = [line(1), line(bound)].map((x) => `<path class="rail" d="M${x} ${head - 4} L${x} ${y}"/>`)
  return svg({ label, height: y + 6 }, [
    text({ x: left, y: 25, className: 'title' }, 'What a request costs with more users'),
    text({ x: line(1) - 4, y: 48, anchor: 'end', className: 'quiet' }, 'with 1,000 users'),
    text({ x: line(bound) + 4, y: 48, className: 'quiet' }, `bound ${bound}×`),
    ...rails,
    ...parts,
  ])
}
