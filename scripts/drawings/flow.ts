import type { Description } from './describe.ts'
import { arrow, lineHeight, margin, rect, svg, text, texts, width, wrap } from './svg.ts'

/**
 * Draws steps below each other, each with what it does:
 *
 *     routes.ts: declares the route
 *     -> parsed input
 *     use case: decides
 */
export function drawFlow({ title, lines }: Description): string {
  const parts: string[] = [text({ x: margin, y: 25, className: 'title' }, title)]
  const center = width / 2
  let y = 42
  for (const line of lines) {
    const [, passed] = /^-> (.*)$/.exec(line) ?? []
    if (passed !== undefined) {
      parts.push(arrow({ x: center, y }, { x: center, y: y + 28 }))
      parts.push(text({ x: center + 12, y: y + 18, className: 'quiet' }, passed))
      y += 28
      continue
    }
    const [name = '', deed = ''] = line.split(/: (.*)/)
    const words = wrap(deed, width - 2 * margin - 24)
    const height = (words.length + 1) * lineHeight + 12
    parts.push(rect({ x: margin, y, width: width - 2 * margin, height }, 'box'))
    parts.push(text({ x: margin + 12, y: y + 20, className: 'head' }, name))
    parts.push(...texts({ x: margin + 12, y: y + 20 + lineHeight }, words))
    y += height
  }
  return svg({ label: [title, ...lines].join('. '), height: y + 16 }, parts)
}
