import { escapeXml, margin, svg } from './svg.ts'

const columns = 64
const charWidth = 7.2
const lineHeight = 18
const rows = 20
const top = 44
const size = Math.ceil(columns * charWidth + 2 * margin)
/** How long a line stays alone before the next one comes. A heading waits longer, so that it can be read. */
const seconds = { line: 0.35, heading: 1.1, end: 6 }

const style = `
.screen { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.screen text { font: inherit; white-space: pre }
.screen .head { font-weight: 600 }`

interface Line {
  text: string
  className: string
  /** When it appears, in seconds. */
  at: number
}

/** Plays what a terminal showed, line by line, in a loop. Without motion, the last lines stand still. */
export function drawRecording(title: string, shown: string): string {
  const lines = timed(['$ npm start', '', ...shown.trimEnd().split('\n')])
  const total = lines.at(-1)!.at + seconds.end
  const percent = (at: number) => `${Math.round((at / total) * 10_000) / 100}%`
  const plays = (name: string) => `animation: ${name} ${total.toFixed(2)}s step-end infinite`
  const appear = lines.map(({ at }, index) =>
    at === 0
      ? ''
      : `@keyframes l${index} { 0%, ${percent(at)} { opacity: 0 } ${percent(at + 0.02)}, 100% { opacity: 1 } }\n.l${index} { ${plays(`l${index}`)} }`,
  )
  // Lines that appear at once scroll the screen once.
  const scrolls = [...new Map(lines.map(({ at }, index) => [at, Math.min(0, (rows - 1 - index) * lineHeight)]))]
  const stops = scrolls.map(([at, y]) => `${percent(at)} { transform: translateY(${y}px) }`)
  const scroll = `@keyframes scroll { ${stops.join(' ')} 100% { transform: translateY(${scrolls.at(-1)?.[1]}px) } }`
  const css = `${style}
.roll { transform: translateY(${scrolls.at(-1)?.[1]}px) }
@media (prefers-reduced-motion: no-preference) {
${appear.join('\n')}
${scroll}
.roll { ${plays('scroll')} }
}`
  const texts = lines.map(
    ({ text, className }, index) =>
      `<text class="${className} l${index}" x="${margin}" y="${top + 12 + index * lineHeight}">${escapeXml(text)}</text>`,
  )
  const height = top + rows * lineHeight + 14
  return svg({ label: `${title}. ${shown.replaceAll('\n', ' ')}`, height, css, size }, [
    `<g class="dots"><circle cx="20" cy="20" r="5"/><circle cx="38" cy="20" r="5"/><circle cx="56" cy="20" r="5"/></g>`,
    `<text class="quiet" x="${size / 2}" y="24" text-anchor="middle">${escapeXml(title)}</text>`,
    `<clipPath id="screen"><rect x="0" y="${top - 2}" width="${size}" height="${rows * lineHeight + 4}"/></clipPath>`,
    `<g class="screen" clip-path="url(#screen)"><g class="roll">`,
    ...texts,
    '</g></g>',
  ])
}

function timed(shown: readonly string[]): Line[] {
  let at = 0
  return shown.flatMap((line, index) => {
    const className = classOf(line)
    // The first line is there from the beginning, for those who see only one frame.
    if (index > 0) at += className === 'head' ? seconds.heading : seconds.line
    return broken(line).map((text) => ({ text, className, at }))
  })
}

function classOf(line: string): string {
  if (/^\d\. |^\$/.test(line)) return 'head'
  if (/^ {2}= 40\d/.test(line)) return 'bad'
  return /^ {2}=/.test(line) ? 'good' : 'plain'
}

/** A terminal breaks a long line. The rest is indented, so that the parts can be told from lines. */
function broken(line: string): string[] {
  const [first = '', ...words] = line.split(/(?<=\S)(?= )/)
  const parts = [first]
  for (const word of words) {
    const longer = parts.at(-1) + word
    if (longer.length <= columns) parts[parts.length - 1] = longer
    else parts.push(`${/^\d/.test(line) ? '  ' : '     '}${word}`)
  }
  return parts
}
