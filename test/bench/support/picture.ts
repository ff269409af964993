// Draws the figures that have a bound as one SVG: a bar for each, relative to its bound. Readable on light and on dark pages.
import { type Figure, isMissed, type Runs, shareOfBound, showBound, showValue } from './results.ts'

const width = 960
const rowHeight = 22
const groupHeight = 34
const headHeight = 46
const bars = { left: 334, bound: 524, right: 619 }
const textLeft = bars.right + 16
/** The average width of a character at 12 px in the widest of the common fonts. */
const charWidth = 6.6

export const style = `
text { font: 12px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.group { font-weight: 600; font-size: 13px }
.quiet { fill: #59636e }
.row { fill: #818b98; fill-opacity: .12 }
.met { fill: #1a7f5a }
.missed { fill: #c4432b }
tspan.missed { font-weight: 600 }
.bound { stroke: #1f2328; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .quiet { fill: #9198a1 }
  .met { fill: #3fb68b }
  .missed { fill: #ff7b62 }
  .bound { stroke: #f0f6fc }
}`

export function drawPicture(runs: Runs): string {
  const parts: string[] = []
  let y = headHeight
  for (const [bench, { figures }] of Object.entries(runs)) {
    const bounded = figures.filter((figure) => figure.bound !== undefined)
    if (bounded.length === 0) continue
    parts.push(text({ x: 0, y: y + 22, className: 'group' }, escapeXml(bench)))
    y += groupHeight
    for (const figure of bounded) {
      parts.push(...drawRow(figure, y))
      y += rowHeight
    }
  }
  const height = y + 12
  const label = 'Each bound of the benches as a bar that ends left of the bound when it is met'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${label}">`,
    `<style>${style}\n</style>`,
    text({ x: bars.bound, y: 14, anchor: 'middle' }, 'bound'),
    text({ x: bars.bound - 12, y: 32, anchor: 'end', className: 'quiet' }, '← met'),
    text({ x: bars.bound + 12, y: 32, className: 'quiet' }, 'not met →'),
    ...parts,
    `<line class="bound" x1="${bars.bound}" x2="${bars.bound}" y1="20" y2="${y}"/>`,
    '</svg>\n',
  ].join('\n')
}

/** Draws a figure's name, bar and value. A bar that is too long for its place ends in a point. */
function drawRow(figure: Figure, top: number): string[] {
  const end = bars.left + shareOfBound(figure)! * (bars.bound - bars.left)
  const isCut = end > bars.right
  const right = round(Math.min(end, bars.right - (isCut ? 8 : 0)))
  const [upper, lower] = [top + 4, top + rowHeight - 4]
  const point = isCut ? ` L${bars.right} ${(upper + lower) / 2}` : ''
  const className = isMissed(figure) ? 'missed' : 'met'
  const baseline = top + rowHeight / 2 + 4
  const value = `<tspan${isMissed(figure) ? ' class="missed"' : ''}>${showValue(figure)}</tspan>`
  const bound = [figure.beside ?? [], showBound(figure)].flat().join(', ')
  return [
    `<rect class="row" x="${bars.left}" y="${upper}" width="${bars.right - bars.left}" height="${lower - upper}"/>`,
    text({ x: 12, y: baseline, space: bars.left - 24 }, escapeXml(figure.what)),
    `<path class="${className}" d="M${bars.left} ${upper} L${right} ${upper}${point} L${right} ${lower} L${bars.left} ${lower} Z"/>`,
    text(
      { x: textLeft, y: baseline, space: width - textLeft },
      `${value}<tspan class="quiet" dx="8">${escapeXml(bound)}</tspan>`,
    ),
  ]
}

interface Place {
  x: number
  y: number
  anchor?: 'middle' | 'end'
  className?: string
  /** Text that is wider than this is compressed. */
  space?: number
}

function text({ x, y, anchor, className, space = Infinity }: Place, content: string): string {
  const { length } = content.replace(/<[^>]*>/g, '').replace(/&\w+;/g, '&')
  const attributes = [
    `x="${round(x)}" y="${y}"`,
    anchor && `text-anchor="${anchor}"`,
    className && `class="${className}"`,
    length * charWidth > space && `textLength="${round(space)}" lengthAdjust="spacingAndGlyphs"`,
  ]
  return `<text ${attributes.filter(Boolean).join(' ')}>${content}</text>`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export function escapeXml(words: string): string {
  return words.replace(/[&<>"]/g, (sign) => entities[sign]!)
}
