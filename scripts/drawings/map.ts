import type { Description } from './describe.ts'
import { arrow, lineHeight, margin, rect, svg, text, texts, width, widthOf, wrap } from './svg.ts'

const itemHeight = 28
const columns = { left: { x: margin, width: 176 }, right: { x: 330, width: width - 330 - margin } }

/**
 * Draws groups of items on the left, boxes on the right, and what leads from one to the other:
 *
 *     group Pool "staff": Ada | Bob
 *     box App "notes": reads the pool staff
 *     Ada -> App "notes": grant
 *     Bob -x App "notes": revoked
 */
export function drawMap({ title, lines }: Description): string {
  const parts: string[] = [text({ x: margin, y: 25, className: 'title' }, title)]
  const ends = new Map<string, number>()
  let y = 44
  for (const line of lines) {
    const [, name = '', members = ''] = /^group (.+?): (.+)$/.exec(line) ?? []
    if (!name) continue
    const items = members.split(' | ')
    const height = 30 + items.length * (itemHeight + 10)
    parts.push(rect({ ...columns.left, y, height }, 'group'))
    parts.push(text({ x: margin + 10, y: y + 20, className: 'head' }, name))
    for (const [index, item] of items.entries()) {
      const top = y + 30 + index * (itemHeight + 10)
      parts.push(rect({ x: margin + 10, y: top, width: columns.left.width - 20, height: itemHeight }, 'box'))
      parts.push(text({ x: margin + 20, y: top + 18 }, item))
      ends.set(item, top + itemHeight / 2)
    }
    y += height + 18
  }
  const bottom = y
  const boxes = lines.flatMap((line) => {
    const [, name = '', about = ''] = /^box (.+?): (.+)$/.exec(line) ?? []
    return name ? [{ name, words: about.split(' / ').flatMap((part) => wrap(part, columns.right.width - 20)) }] : []
  })
  const gap = 40
  const tall = boxes.reduce((sum, { words }) => sum + (words.length + 1) * lineHeight + 16 + gap, -gap)
  y = 44 + Math.max(0, (bottom - 62 - tall) / 2)
  for (const { name, words } of boxes) {
    const height = (words.length + 1) * lineHeight + 16
    parts.push(rect({ ...columns.right, y, height }, 'box'))
    parts.push(text({ x: columns.right.x + 10, y: y + 20, className: 'head' }, name))
    parts.push(...texts({ x: columns.right.x + 10, y: y + 20 + lineHeight }, words))
    ends.set(name, y + height / 2)
    y += height + gap
  }
  const links = lines.flatMap((line) => {
    const [, from = '', sign = '', to = '', about = ''] = /^(.+?) -([>x]) (.+?): (.+)$/.exec(line) ?? []
    return sign ? [{ from, to, about, className: sign === 'x' ? 'bad' : 'good' }] : []
  })
  for (const { from, to, about, className } of links) {
    const sides = links.filter((link) => link.to === to)
    const place = (sides.findIndex((link) => link.from === from) - (sides.length - 1) / 2) * 14
    const start = { x: margin + columns.left.width - 10, y: ends.get(from)! }
    const end = { x: columns.right.x, y: ends.get(to)! + place }
    parts.push(arrow(start, end, className))
    const at = { x: start.x + (end.x - start.x) * 0.5, y: start.y + (end.y - start.y) * 0.5 }
    const size = widthOf(about)
    parts.push(rect({ x: at.x - size / 2, y: at.y - 9, width: size, height: 17 }, 'back', 0))
    parts.push(text({ x: at.x, y: at.y + 4, anchor: 'middle', className }, about))
  }
  return svg({ label: [title, ...lines].join('. '), height: Math.max(bottom, y - gap + 18) }, parts)
}
