// The parts that all drawings share: one width that a phone can show, one set of colors for light and for dark, and text that wraps.

export const width = 520
export const margin = 16
const fontSize = 13
/** The average width of a character in the widest of the common fonts. */
const charWidth = 7.1
export const lineHeight = 17

const style = `
text { font: ${fontSize}px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2328 }
.paper { fill: #ffffff; stroke: #d1d9e0 }
.title { font-weight: 600; font-size: 15px }
.head { font-weight: 600 }
.quiet { fill: #59636e }
.good { fill: #1a7f5a }
.bad { fill: #c4432b }
.box { fill: #f6f8fa; stroke: #818b98 }
.group { fill: none; stroke: #818b98; stroke-dasharray: 4 3 }
.line { fill: none; stroke: #59636e; stroke-width: 1.5 }
.rail { fill: none; stroke: #d1d9e0; stroke-width: 1.5 }
.good.line { stroke: #1a7f5a; fill: none }
.bad.line { stroke: #c4432b; fill: none; stroke-dasharray: 5 4 }
.back { fill: #ffffff }
.tip { fill: #59636e }
.bar-old { fill: #818b98 }
.bar-bad { fill: #c4432b }
.bar-new { fill: #1a7f5a }
.dots { fill: #d1d9e0 }
.one { stroke: #818b98; stroke-width: 3 }
.on-bar { fill: #ffffff; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc }
  .paper { fill: #0d1117; stroke: #3d444d }
  .quiet { fill: #9198a1 }
  .good { fill: #3fb68b }
  .bad { fill: #ff7b62 }
  .box { fill: #151b23; stroke: #9198a1 }
  .group { stroke: #9198a1 }
  .line { stroke: #9198a1 }
  .rail { stroke: #3d444d }
  .good.line { stroke: #3fb68b }
  .bad.line { stroke: #ff7b62 }
  .back { fill: #0d1117 }
  .tip { fill: #9198a1 }
  .bar-old { fill: #656c76 }
  .bar-bad { fill: #c2543f }
  .bar-new { fill: #2f8f6b }
  .dots { fill: #3d444d }
}`

/** A whole drawing, on a paper of its own, so that it can be read on any page. */
export function svg({ label, height, css = '', size = width }: Paper, parts: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${height}" width="${size}" height="${height}" role="img" aria-label="${escapeXml(label)}">`,
    `<style>${style}${css}\n</style>`,
    rect({ x: 0.5, y: 0.5, width: size - 1, height: height - 1 }, 'paper', 6),
    ...parts,
    '</svg>\n',
  ].join('\n')
}

interface Paper {
  /** What the picture shows, for people who do not see it. */
  label: string
  height: number
  css?: string
  size?: number
}

export interface Area {
  x: number
  y: number
  width: number
  height: number
}

export function rect({ x, y, width, height }: Area, className: string, radius = 4): string {
  return `<rect class="${className}" x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}"/>`
}

interface Place {
  x: number
  y: number
  anchor?: 'middle' | 'end'
  className?: string
}

export function text({ x, y, anchor, className }: Place, content: string): string {
  const attributes = [
    `x="${round(x)}" y="${round(y)}"`,
    anchor && `text-anchor="${anchor}"`,
    className && `class="${className}"`,
  ].filter(Boolean)
  return `<text ${attributes.join(' ')}>${escapeXml(content)}</text>`
}

/** Lines of text below each other; `y` is the base of the first. */
export function texts(place: Place, lines: readonly string[]): string[] {
  return lines.map((line, index) => text({ ...place, y: place.y + index * lineHeight }, line))
}

export function widthOf(content: string): number {
  return content.length * charWidth
}

/** Breaks a text between words, so that each line fits. */
export function wrap(content: string, space: number): string[] {
  const lines: string[] = []
  for (const word of content.split(' ')) {
    const longer = lines.length > 0 ? `${lines.at(-1)} ${word}` : word
    if (lines.length > 0 && widthOf(longer) <= space) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}

/** A line that ends in a point. */
export function arrow(from: Point, to: Point, className = ''): string {
  const length = Math.hypot(to.x - from.x, to.y - from.y)
  const [dx, dy] = [(to.x - from.x) / length, (to.y - from.y) / length]
  const end = { x: to.x - dx * 8, y: to.y - dy * 8 }
  const side = (sign: number) => `${round(end.x - dy * 4 * sign)} ${round(end.y + dx * 4 * sign)}`
  return [
    `<path class="${`line ${className}`.trim()}" d="M${round(from.x)} ${round(from.y)} L${round(end.x)} ${round(end.y)}"/>`,
    `<path class="${className || 'tip'}" d="M${side(1)} L${round(to.x)} ${round(to.y)} L${side(-1)} Z"/>`,
  ].join('\n')
}

interface Point {
  x: number
  y: number
}

export function round(value: number): number {
  return Math.round(value * 10) / 10
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export function escapeXml(words: string): string {
  return words.replace(/[&<>"]/g, (sign) => entities[sign]!)
}
