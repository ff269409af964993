import type { Description } from './describe.ts'
import { lineHeight, margin, rect, svg, text, texts, width, wrap } from './svg.ts'

const left = 128
const barHeight = 22

/**
 * Draws what holds from which step to which:
 *
 *     steps: before | 1 | 2
 *     step 1: the servers accept both
 *     row Servers sign with: old before-2, new 2-end
 */
export function drawTimeline({ title, lines }: Description): string {
  const [first = '', ...rest] = lines
  const steps = first.replace(/^steps: /, '').split(' | ')
  const space = (width - left - margin) / steps.length
  const at = (step: string) => left + space * (step === 'end' ? steps.length : steps.indexOf(step))
  const parts: string[] = [text({ x: margin, y: 25, className: 'title' }, title)]
  let y = 48
  for (const step of steps) parts.push(text({ x: at(step) + space / 2, y, anchor: 'middle', className: 'head' }, step))
  const top = y + 8
  y += 18
  const bars: string[] = []
  for (const line of rest.filter((line) => line.startsWith('row '))) {
    const [, name = '', sent = ''] = /^row (.+?): (.+)$/.exec(line) ?? []
    const names = wrap(name, left - margin - 6)
    const spans = sent.split(', ').map((span) => /^(\w+) (\w+)-(\w+)$/.exec(span)!)
    // Bars that overlap stand below each other.
    const isStacked = spans.some(([, , from], index) => index > 0 && at(from!) < at(spans[index - 1]![3]!))
    const height = Math.max(names.length * lineHeight, (isStacked ? spans.length : 1) * (barHeight + 3))
    bars.push(...texts({ x: margin, y: y + 15 }, names))
    for (const [index, [, what = '', from = '', to = '']] of spans.entries()) {
      const area = {
        x: at(from) + 1,
        y: y + (isStacked ? index * (barHeight + 3) : 0),
        width: at(to) - at(from) - 2,
        height: barHeight,
      }
      bars.push(rect(area, `bar-${what}`))
      bars.push(text({ x: area.x + area.width / 2, y: area.y + 15, anchor: 'middle', className: 'on-bar' }, what))
    }
    y += height + 12
  }
  const rails = [...steps, 'end'].map((step) => `<path class="rail" d="M${at(step)} ${top} L${at(step)} ${y}"/>`)
  y += 14
  const notes = rest.flatMap((line) => {
    const [, step = '', deed = ''] = /^step (.+?): (.+)$/.exec(line) ?? []
    return step ? [{ step, words: wrap(deed, width - 2 * margin - 28) }] : []
  })
  const legend: string[] = []
  for (const { step, words } of notes) {
    legend.push(text({ x: margin, y, className: 'head' }, step), ...texts({ x: margin + 22, y }, words))
    y += words.length * lineHeight + 4
  }
  return svg({ label: [title, ...rest].join('. '), height: y + 6 }, [...parts, ...rails, ...bars, ...legend])
}
