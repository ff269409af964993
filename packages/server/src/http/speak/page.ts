import { createHash } from 'node:crypto'
import type { ApiError } from '../../errors.ts'
import { shownName, textOn } from '../../lib/brand.ts'
import { Html, html, type PagePlace, type PageView } from '../../lib/html.ts'
import { style } from '../../pages/style.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { textsIn } from '../../pages/texts/texts-for.ts'
import type { Reply } from './reply.ts'

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
 * An error of a page: one page for all links that do not work, and others that say what to do. `place` is the app of the link,
 * where it is known.
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
