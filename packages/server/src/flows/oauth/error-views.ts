import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import { wayOn } from '../../pages/fields.ts'
import type { PageTexts, Told } from '../../pages/texts/page-texts.ts'
import type { RequestFault } from './authorization-request.ts'

const action = '/oauth/authorize'

/** For a request whose app or redirect URL is not good: the browser is sent nowhere. */
export function faultView(texts: PageTexts, fault: RequestFault, place: PagePlace | undefined): PageView {
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
    body: html`<p>${told.text}</p>\n<p>${goBack}</p>\n${wayOn(texts, place)}`,
  }
}

/** For a sign-in link that is opened where nobody asked for it. */
export function codeElsewhereView(texts: PageTexts, place: PagePlace): PageView {
  return { ...toldView(texts, texts.codeElsewhere), place }
}

/** For a browser that did not begin what it brings to an end. */
export function elsewhereView(texts: PageTexts, place: PagePlace): PageView {
  const view = toldView(texts, texts.elsewhere, 400)
  return { ...view, place, body: html`${view.body}\n${wayOn(texts, place)}` }
}

export function toldView({ language }: PageTexts, { title, text }: Told, status = 200): PageView {
  return { status, language, title, body: html`<p>${text}</p>` }
}

/** For a form that was open for too long, or that this browser did not get. */
export function startAgainView(texts: PageTexts, query: string | undefined, place?: PagePlace): PageView {
  const { title, text, startAgain, goBack } = texts.tooOld
  const start = query === undefined ? undefined : html`<p><a class="button" href="${`${action}?${query}`}">${startAgain}</a></p>`
  return {
    status: 400,
    language: texts.language,
    title,
    place,
    body: html`<p>${text}</p>
${start ?? html`<p>${goBack}</p>`}`,
  }
}
