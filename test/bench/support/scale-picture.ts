// Draws what each request costs with more users, relative to the fewest: a bar for each number of users, and a line at the bound.
import { escapeXml, style } from './picture.ts'
import type { Figure, Run } from './results.ts'

const width = 960
const left = 220
const barHeight = 12
const gap = 10
const head = 44
/** The ratio at the right edge of the bars. */
const most = 2
const scale = (ratio: number) => left + (Math.min(ratio, most) / most) * (width - left - 90)

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
    parts.push(`<text x="12" y="${y + (bars.length * barHeight) / 2 + 4}">${escapeXml(deed)}</text>`)
    for (const { users, ratio } of bars) {
      const className = ratio > bound ? 'missed' : 'met'
      const end = scale(ratio)
      parts.push(`<rect class="${className}" x="${left}" y="${y}" width="${Math.round(end - left)}" height="${barHeight - 2}"/>`)
      const label = `${ratio.toFixed(2)}x with ${users} users`
      parts.push(`<text class="quiet" x="${Math.round(end) + 6}" y="${y + 9}" style="font-size: 10px">${escapeXml(label)}</text>`)
      y += barHeight
    }
    y += gap
  }
  const line = (ratio: number) => Math.round(scale(ratio))
  const label = 'What each request costs with more users, relative to the cost with a thousand users'
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" aria-label="${label}">`,
    `<style>${style}\n</style>`,
    `<text class="quiet" x="${line(1)}" y="30" text-anchor="middle">1,000 users</text>`,
    `<text x="${line(bound)}" y="14" text-anchor="middle">bound ${bound}x</text>`,
    ...parts,
    `<line class="bound" stroke-dasharray="3 3" x1="${line(1)}" x2="${line(1)}" y1="36" y2="${y}"/>`,
    `<line class="bound" x1="${line(bound)}" x2="${line(bound)}" y1="20" y2="${y}"/>`,
    '</svg>\n',
  ].join('\n')
}
