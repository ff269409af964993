import type { Stats } from '../nouns/stats.ts'
import { type Html, html } from '../text/html.ts'

const half = 50

/** Logins over time. Successes go up and refusals go down, so the chart does not depend on colour. */
export function loginsChart({ logins, at }: Stats): Html {
  const { steps } = logins
  const highest = Math.max(1, ...steps.flatMap(({ succeeded, failed }) => [succeeded, failed]))
  const height = (count: number) => Number(((count / highest) * half).toFixed(2))
  const bars = steps.map(({ succeeded, failed }, step) => [
    succeeded > 0
      ? html`<rect class="succeeded" x="${step + 0.1}" y="${half - height(succeeded)}" width=".8" height="${height(succeeded)}"/>`
      : '',
    failed > 0 ? html`<rect class="failed" x="${step + 0.1}" y="${half}" width=".8" height="${height(failed)}"/>` : '',
  ])
  const total = (of: 'succeeded' | 'failed') => steps.reduce((sum, step) => sum + step[of], 0)
  const told = `${number(total('succeeded'))} logins succeeded and ${number(total('failed'))} were refused from ${clock(logins.counted_since)} to ${clock(at)}`
  return html`<figure>
<svg viewBox="0 0 ${Math.max(1, steps.length)} ${2 * half}" preserveAspectRatio="none" role="img" aria-label="${told}">${bars}
<line class="axis" x1="0" x2="${Math.max(1, steps.length)}" y1="${half}" y2="${half}"/></svg>
<div><span>${clock(logins.counted_since)}</span><span>${clock(at)}</span></div>
<figcaption><span class="key good">▲ succeeded ${number(total('succeeded'))}</span>, <span class="key fault">▼ refused ${number(total('failed'))}</span>; at most ${number(highest)} in a bar</figcaption>
</figure>`
}

export interface Bar {
  name: string
  href?: string | undefined
  count: number
}

/** A table of counts, each with a bar. */
export function barTable(bars: readonly Bar[], { title, none }: { title: string; none: string }): Html {
  if (bars.length === 0) return html`<p class="none">${none}</p>`
  const highest = Math.max(1, ...bars.map(({ count }) => count))
  const rows = bars.map(({ name, href, count }) => {
    const label = href === undefined ? name : html`<a href="${href}">${name}</a>`
    const width = ((count / highest) * 100).toFixed(2)
    const bar = html`<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect class="plain" width="${width}" height="1"/></svg>`
    return html`<tr><th scope="row">${label}</th><td class="number">${number(count)}</td><td class="bar">${bar}</td></tr>\n`
  })
  return html`<table><thead><tr><th scope="col">${title}</th><th scope="col" class="number">Count</th><td></td></tr></thead>\n<tbody>${rows}</tbody></table>`
}

export function number(count: number): string {
  return count.toLocaleString('en-US')
}

function clock(moment: string): string {
  return `${moment.slice(11, 19)} UTC`
}
