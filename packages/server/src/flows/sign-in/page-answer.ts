import type { Counted } from '../../adapters/metrics.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode, type ShownCode } from '../../errors.ts'
import type { Cookies, SetCookies } from '../../lib/cookies.ts'
import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import { newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { wayOn } from '../../pages/fields.ts'
import { faultsIn } from '../../pages/texts/faults.ts'
import type { PageTexts, Told } from '../../pages/texts/page-texts.ts'
import { type BrowserSecrets, keptIdleSeconds } from '../../resources/sessions/browser-sessions.ts'
import type { SaidRefusal } from './sealed-fields.ts'

/** What a page route answers: a page, or where the browser goes. */
export type PageAnswer = ({ location: string; view?: undefined } | { view: PageView; location?: undefined }) & {
  cookies?: SetCookies
  errorCode?: ShownCode | undefined
  counted?: Counted | undefined
}

/** Throws if the pages are switched off. */
export function assertPagesOn({ config }: Deps): void {
  if (new URL(config.publicUrl).pathname !== '/') throw new ApiError('not_found', { detail: 'PUBLIC_URL has a path' })
}

const browserSeconds = 180 * 86_400
const deviceSeconds = 180 * 86_400

/** The secret that marks the browser. A browser without one gets one by the cookie in `marked`. */
export function markBrowser({ browser: known }: Cookies): { browser: string; marked: { cookies?: SetCookies } } {
  if (known !== undefined) return { browser: known, marked: {} }
  const browser = newOpaqueToken(TOKEN_PREFIXES.browser)
  return { browser, marked: { cookies: { browser: { value: browser, seconds: browserSeconds } } } }
}

/** The cookies of somebody who has just shown who they are. */
export function cookiesOf({ secret, isKept, deviceToken }: BrowserSecrets): SetCookies {
  const session = { value: secret, seconds: isKept ? keptIdleSeconds : undefined }
  return { session, device: deviceCookie(deviceToken) }
}

export function deviceCookie(value: string) {
  return { value, seconds: deviceSeconds }
}

/** What a form is shown again with, so that nobody has to type it twice. */
export type Typed = Pick<SaidRefusal, 'email' | 'firstName' | 'lastName' | 'isKept'>

/** What a form is shown again with. Rethrows all errors that are not the person's. */
export function refusalOf(error: unknown, typed: Typed = {}): SaidRefusal & { code: ErrorCode } {
  if (!(error instanceof ApiError) || error.status >= 500) throw error
  const { code, errors, retryAfter } = error
  return { code, faults: faultsIn(errors), ...(retryAfter === undefined ? {} : { retryAfter }), ...typed }
}

/** A page that ends somewhere, with a way on to the app that it is about. */
export function toldView(texts: PageTexts, { title, text }: Told, status = 200, place?: PagePlace): PageView {
  return { status, language: texts.language, title, place, body: html`<p>${text}</p>\n${wayOn(texts, place)}` }
}

/** For a browser that did not begin what it brings to an end. */
export function elsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return toldView(texts, texts.elsewhere, 400, place)
}

/** For a form that was open for too long, or that this browser did not get. `url` is where it can be had again. */
export function startAgainView(texts: PageTexts, url: string | undefined, place?: PagePlace): PageView {
  const { title, text, startAgain, goBack } = texts.tooOld
  const start = url === undefined ? undefined : html`<p><a class="button" href="${url}">${startAgain}</a></p>`
  return {
    status: 400,
    language: texts.language,
    title,
    place,
    body: html`<p>${text}</p>
${start ?? html`<p>${goBack}</p>\n${wayOn(texts, place)}`}`,
  }
}
