import { createHash } from 'node:crypto'
import type { ApiError } from '../../errors.ts'
import { shownName, textOn } from '../../lib/brand.ts'
import { Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { textsIn } from '../../pages/texts/texts-for.ts'
import type { Reply } from './json.ts'

// Text contrasts with its background at 4.5:1 or more, in both color schemes; borders of fields at 3:1.
const style = `
:root { color-scheme: light dark; --ground: #f3f4f6; --card: #ffffff; --text: #1b1f24; --quiet: #57606a; --edge: #767f89;
  --accent: #1a56db; --on-accent: #ffffff; --fault: #b42318; --fault-ground: #fef3f2; --logo-ground: transparent; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #0f1318; --card: #181d24; --text: #e6e9ee; --quiet: #a9b2bd; --edge: #7d8793;
    --accent: #8ab4f8; --on-accent: #0b1a33; --fault: #ffa198; --fault-ground: #2d1a1b; --logo-ground: #ffffff; }
}
* { box-sizing: border-box; }
html { font: 100%/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
body { margin: 0; padding: 1rem; min-height: 100vh; display: grid; align-content: center; justify-content: center;
  grid-template-columns: minmax(0, 26rem); background: var(--ground); color: var(--text); }
main { padding: 1.5rem; border-radius: .75rem; background: var(--card); overflow-wrap: anywhere;
  box-shadow: 0 1px 3px rgb(0 0 0 / .2); }
.place { margin: 0; color: var(--quiet); font-weight: 600; }
/* Most logos are made for a light ground. */
.logo { display: block; max-width: 100%; max-height: 3rem; margin-bottom: .75rem; border-radius: .25rem;
  background: var(--logo-ground); box-shadow: 0 0 0 .25rem var(--logo-ground); }
footer { display: flex; flex-wrap: wrap; justify-content: center; gap: .25rem 1.25rem; padding: 1rem; font-size: .9375rem; }
a { color: inherit; }
h1 { margin: .25rem 0 1rem; font-size: 1.5rem; line-height: 1.25; }
h2 { margin: 1.5rem 0 .25rem; font-size: 1.125rem; line-height: 1.25; }
p { margin: 0 0 1rem; }
form, main > :last-child, form > :last-child { margin-bottom: 0; }
.field { margin: 0 0 1rem; }
label { display: block; margin-bottom: .25rem; font-weight: 600; }
.optional { color: var(--quiet); font-weight: 400; }
.hint, .fault { margin: 0 0 .25rem; font-size: .9375rem; }
.hint { color: var(--quiet); }
.fault { color: var(--fault); font-weight: 600; }
.alert { padding: .75rem 1rem; border-left: .25rem solid var(--fault); background: var(--fault-ground); }
.notice { padding: .75rem 1rem; border-left: .25rem solid var(--accent); background: var(--ground); }
input, textarea, select { width: 100%; padding: .625rem .75rem; border: 1px solid var(--edge); border-radius: .375rem; background: var(--card);
  color: inherit; font: inherit; }
input[readonly], textarea[readonly] { background: var(--ground); }
input[aria-invalid="true"] { border: 2px solid var(--fault); }
nav ul { margin: 0 0 1rem; padding: 0; list-style: none; }
nav a { display: block; padding: .625rem 0; border-bottom: 1px solid var(--edge); }
.code { display: block; resize: none; field-sizing: content; overflow-wrap: anywhere;
  font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .875rem; }
.qr { display: block; width: 100%; max-width: 16rem; margin: 0 auto 1rem; }
button, .button { display: block; width: 100%; padding: .75rem 1rem; border: 1px solid transparent; border-radius: .375rem;
  background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-align: center; text-decoration: none;
  cursor: pointer; }
.check { display: flex; gap: .5rem; align-items: flex-start; margin: 0 0 1rem; }
.check input { width: 1.125rem; height: 1.125rem; margin: .1875rem 0; flex: none; accent-color: var(--accent); }
code { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: .9375em; }
.check label { margin: 0; font-weight: 400; }
fieldset { margin: 0 0 1rem; padding: 0; border: 0; }
legend { margin-bottom: .5rem; padding: 0; font-weight: 600; }
form + form, form + p, p + form, noscript + form, form > button ~ p { margin-top: 1rem; }
.or { margin: 1rem 0; color: var(--quiet); text-align: center; }
button.harmful { border-color: var(--fault); background: transparent; color: var(--fault); }
button.quiet, .button.quiet { border-color: var(--edge); background: transparent; color: var(--text); }
button:hover, .button:hover { text-decoration: underline; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
`

const styleHash = hashOf(style)

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}

/** A page as the answer to a request. */
export function showPage(view: PageView): Reply {
  const ofLanguage = { 'Content-Language': view.language, Vary: 'Accept-Language' }
  const headers = { ...pageHeaders(view.leadsTo, view), ...ofLanguage, 'Content-Type': 'text/html; charset=utf-8' }
  return { status: view.status, headers, body: renderPage(view), retryAfter: view.retryAfter }
}

/** Sends a browser elsewhere after its form was read. */
export function leadTo(url: string): Reply {
  return { status: 303, headers: { ...pageHeaders(), 'Referrer-Policy': 'no-referrer', Location: url } }
}

/** The color of an app, on both cards. It differs from app to app, so its style is apart from that of all pages. */
function accentStyle(place: PagePlace | undefined): string | undefined {
  const color = place?.accentColor
  return color ? `:root { --accent: ${color}; --on-accent: ${textOn(color)}; }` : undefined
}

/** Renders the whole document of a page: one column, at most one script of ours, nothing loaded from elsewhere. */
function renderPage({ language, title, place, body, script }: PageView): string {
  const name = place && (shownName(place.name) || place.code)
  const accent = accentStyle(place)
  const { markup } = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${name ? `${title} - ${name}` : title}</title>
<style>${new Html(style)}</style>
${accent && html`<style>${new Html(accent)}</style>\n`}${script && html`<script src="${script}" defer></script>\n`}</head>
<body>
<main>
${place?.logo && html`<img class="logo" src="${place.logo}" alt="">\n`}${name && html`<p class="place"><bdi>${name}</bdi></p>\n`}<h1>${title}</h1>
${body}
</main>
${footerOf(textsIn(language), place)}</body>
</html>
`
  return markup
}

function footerOf({ footer }: PageTexts, place: PagePlace | undefined): Html | undefined {
  if (!place?.links?.length) return undefined
  const links = place.links.map(({ kind, url }) => html`<a href="${url}">${footer[kind]}</a>\n`)
  return html`<footer>\n${links}</footer>\n`
}

/**
 * The headers of a page. Its URL holds a token, so no cache may keep it and no other site may see it. `leadsTo` is where the
 * response to its form redirects: browsers apply `form-action` to that too.
 */
function pageHeaders(
  leadsTo: readonly string[] = [],
  { place, script }: Pick<PageView, 'place' | 'script'> = {},
): Record<string, string> {
  // An app or provider may lead on to another site by https.
  const others = leadsTo.filter((url) => !url.startsWith('https:')).map(sourceOf)
  const targets = ["'self'", ...(leadsTo.length > 0 ? ['https:'] : []), ...new Set(others)].join(' ')
  const accent = accentStyle(place)
  const styles = [styleHash, ...(accent === undefined ? [] : [hashOf(accent)])].map((hash) => `'sha256-${hash}'`).join(' ')
  const images = place?.logo ? " img-src 'self';" : ''
  // The script reads a new challenge from its own page.
  const scripts = script === undefined ? '' : " script-src 'self'; connect-src 'self';"
  return {
    'Cache-Control': 'no-store',
    'Content-Security-Policy': `default-src 'none';${scripts} style-src ${styles};${images} form-action ${targets}; frame-ancestors 'none'; base-uri 'none'`,
    'Cross-Origin-Opener-Policy': 'same-origin',
    // Other sites get none. Without any, forms would be sent with `Origin: null`.
    'Referrer-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
  }
}

/** The origin of a URL if a content security policy can express it, else the scheme (private schemes, addresses in brackets). */
function sourceOf(url: string): string {
  const { protocol, origin } = new URL(url)
  return /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(origin) ? origin : protocol
}

/** The last line of an error page. */
function renderHelp({ errors }: PageTexts, requestId: string): Html {
  return html`<p class="hint">${errors.help(requestId)}</p>`
}

/**
 * An error of a page: one page for all links that do not work, and others that say what to do. `place` is the app of the link, where it
 * is known.
 */
export function errorOfPage(
  texts: PageTexts,
  { method, path, place, onward }: { method: string; path: string; place?: PagePlace | undefined; onward?: Html | undefined },
  { code, status, retryAfter }: ApiError,
  requestId: string,
): Reply {
  const { language, deadLink, foreignForm, unreadableForm, errors } = texts
  const show = (title: string, body: Html) => ({
    ...showPage({ status, language, title, place, body, retryAfter }),
    errorCode: code,
  })
  if (code === 'foreign_form') return show(foreignForm.title, html`<p>${foreignForm.text}</p>\n${onward}`)
  const isOfForm = status < 500 && retryAfter === undefined
  const isOfLink = code === 'invalid_token' || code === 'invalid_invitation' || (isOfForm && method === 'GET')
  if (isOfLink) {
    const advice = Object.entries(deadLink.advice).find(([of]) => of === path)?.[1]
    return show(deadLink.title, html`<p>${deadLink.text}</p>\n${advice && html`<p>${advice}</p>\n`}${onward}`)
  }
  const title = isOfForm ? unreadableForm.title : titleOf(texts, code)
  return show(title, html`<p>${isOfForm ? unreadableForm.text : errors.wait}</p>\n${onward}${renderHelp(texts, requestId)}`)
}

function titleOf({ errors, apiErrors }: PageTexts, code: string): string {
  const titles: Readonly<Record<string, string>> = {
    ...apiErrors,
    rate_limited: errors.tooMany,
    unavailable: errors.unavailable,
    internal_error: errors.internal,
    account_locked: errors.locked,
  }
  return titles[code] ?? errors.other
}

/**
 * An error of a route that speaks JSON, for a browser that opened its URL. Faults of parameters are for developers, so they stay
 * English.
 */
export function errorForBrowser(texts: PageTexts, { code, status, errors, retryAfter }: ApiError, requestId: string): Reply {
  const faults = errors?.map(({ path, message }) => html`<p lang="en">${path}: ${message}.</p>\n`)
  const body = html`${faults ?? html`<p>${code === 'invalid_sso_state' ? texts.errors.startAgain : texts.errors.goBack}</p>\n`}${renderHelp(texts, requestId)}`
  const { language } = texts
  return { ...showPage({ status, language, title: titleOf(texts, code), body, retryAfter }), errorCode: code }
}
