import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import { toDeveloper, wayOn } from '../../pages/fields.ts'
import type { PageTexts, Told } from '../../pages/texts/page-texts.ts'
import type { RequestFault } from './authorization-request.ts'

/** For a request whose app or redirect URL is not good: the browser is sent nowhere. */
export function faultView(
  texts: PageTexts,
  fault: RequestFault,
  { place, hint }: { place: PagePlace | undefined; hint: string | undefined },
): PageView {
  const { unknownApp, inactiveApp, title, goBack, ...redirects } = texts.requestFaults
  const told = {
    unknown_app: unknownApp,
    inactive_app: inactiveApp,
    redirect_missing: { title, text: redirects.redirectMissing },
    redirect_unknown: { title, text: redirects.redirectUnknown },
    redirect_prefixes_only: { title, text: redirects.redirectPrefixesOnly },
  }[fault]
  return {
    status: fault === 'inactive_app' ? 403 : 400,
    language: texts.language,
    title: told.title,
    place,
    body: html`<p>${told.text}</p>\n${toDeveloper(hint)}<p>${goBack}</p>\n${wayOn(texts, place)}`,
  }
}

/** For a sign-in link that is opened where nobody asked for it. */
export function codeElsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return { ...toldView(texts, texts.codeElsewhere), place }
}

/** For a browser that did not begin what it brings to an end. */
export function elsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return toldView(texts, texts.elsewhere, 400, place)
}

/** A page that ends somewhere, with a way on to the app that it is about. */
export function toldView(texts: PageTexts, { title, text }: Told, status = 200, place?: PagePlace): PageView {
  return { status, language: texts.language, title, place, body: html`<p>${text}</p>\n${wayOn(texts, place)}` }
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
