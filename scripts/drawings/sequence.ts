import type { Description } from './describe.ts'
import { arrow, lineHeight, margin, rect, svg, text, texts, width, widthOf, wrap } from './svg.ts'

/**
 * Draws who says what to whom, from top to bottom:
 *
 *     lanes: Browser | Gatehouse
 *     Browser -> Gatehouse: a question
 *     Gatehouse: what it does meanwhile
 *     == later ==
 */
export function drawSequence({ title, lines }: Description): string {
  const [first = '', ...rest] = lines
  const lanes = first.replace(/^lanes: /, '').split(' | ')
  const laneWidth = (width - 2 * margin) / lanes.length
  const middle = (lane: string) => {
    const index = lanes.indexOf(lane)
    if (index === -1) throw new Error(`${title}: there is no lane "${lane}"`)
    return margin + laneWidth * (index + 0.5)
  }
  const parts: string[] = []
  let y = 82
  for (const line of rest) {
    const [, from, to, said = ''] = /^(.+?) -> (.+?): (.+)$/.exec(line) ?? []
    const [, divider] = /^== (.+) ==$/.exec(line) ?? []
    if (divider) {
      parts.push(text({ x: width / 2, y: y + 18, anchor: 'middle', className: 'head' }, divider))
      y += 36
    } else if (from && to) {
      const [start, end] = [middle(from), middle(to)]
      const words = wrap(said, Math.abs(end - start) - 20)
      parts.push(...onPaper((start + end) / 2, y, words))
      y += words.length * lineHeight + 6
      parts.push(arrow({ x: start, y }, { x: end, y }, classOf(said)))
      y += 16
    } else {
      const [lane = '', deed = ''] = line.split(/: (.*)/)
      const words = wrap(deed, laneWidth - 22)
      const height = words.length * lineHeight + 10
      parts.push(rect({ x: middle(lane) - laneWidth / 2 + 4, y, width: laneWidth - 8, height }, 'box'))
      parts.push(...texts({ x: middle(lane), y: y + 18, anchor: 'middle' }, words))
      y += height + 14
    }
  }
  const rails = lanes.map((lane) => `<path class="rail" d="M${middle(lane)} 66 L${middle(lane)} ${y}"/>`)
  const heads = lanes.flatMap((lane) => [
    rect({ x: middle(lane) - laneWidth / 2 + 4, y: 40, width: laneWidth - 8, height: 26 }, 'box'),
    text({ x: middle(lane), y: 58, anchor: 'middle', className: 'head' }, lane),
  ])
  const head = text({ x: margin, y: 25, className: 'title' }, title)
  return svg({ label: [title, ...rest].join('. '), height: y + 12 }, [head, ...rails, ...heads, ...parts])
}

/** An answer of an error is red, so that it is found at once. */
function classOf(said: string): string {
  return /^(401|403)/.test(said) ? 'bad' : ''
}

/** Words between two lanes. A third lane may run behind them. */
function onPaper(x: number, y: number, words: readonly string[]): string[] {
  const widest = Math.max(...words.map(widthOf))
  const back = rect({ x: x - widest / 2 - 2, y: y - 2, width: widest + 4, height: words.length * lineHeight + 2 }, 'back', 0)
  return [back, ...texts({ x, y: y + 12, anchor: 'middle' }, words)]
}
