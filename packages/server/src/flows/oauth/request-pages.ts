import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { html, type PagePlace, type PageView } from '../../lib/html.ts'
import type { App } from '../../models/app.ts'
import { toDeveloper, wayOn } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import { type Reader, textsFor } from '../../pages/texts/texts-for.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { startAgainView } from '../sign-in/page-answer.ts'
import type { ReadRequest } from './authorization-request.ts'
import { authorizePath, parametersIn, type SentParameters } from './request-parameters.ts'

/** The app that the request of a form names, which anybody can have written. */
export async function findPlaceOfForm(deps: Deps, { query }: { query: string }): Promise<PagePlace | undefined> {
  const { client_id: code } = parametersIn(query)
  const app = typeof code === 'string' ? await (await readCatalog(deps)).findApp({ code }) : undefined
  return app && placeOf(deps.config, app)
}

/** For a form that can no longer be taken, with the app that its request names, and the page that had it. */
export async function startAgain(
  deps: Deps,
  { path = authorizePath, query }: { path?: string; query: string },
  actor: Pick<Actor, 'origin'>,
): Promise<PageView> {
  const { ui_locales: uiLocales } = parametersIn(query)
  const place = await findPlaceOfForm(deps, { query })
  return startAgainView(textsFor({ ...readerOf({ uiLocales }, actor), place }), query ? `${path}?${query}` : undefined, place)
}

/** What is known about the reader of a page before it is known who they are. */
export function readerOf(
  { uiLocales }: { uiLocales?: string | string[] | undefined },
  { origin }: Pick<Actor, 'origin'>,
): Pick<Reader, 'uiLocales' | 'accepts'> {
  return { uiLocales: typeof uiLocales === 'string' ? uiLocales : undefined, accepts: origin.languages }
}

/** For a request whose app or redirect URL is not good: the browser is sent nowhere. */
export function viewOfFault(
  { config }: Deps,
  { fault, app }: Extract<ReadRequest, { fault: unknown }>,
  { ui_locales: uiLocales, redirect_uri: redirectUrl }: SentParameters,
  actor: Pick<Actor, 'origin'>,
): PageView {
  const place = app && placeOf(config, app)
  const isTold = !config.production && app && typeof redirectUrl === 'string' && redirectUrl !== ''
  const hint = isTold && fault.startsWith('redirect_') ? redirectHint(app, redirectUrl.slice(0, 500)) : undefined
  const texts = textsFor({ ...readerOf({ uiLocales }, actor), place })
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

/** Names the URL that came with the request, and the command that adds it. */
function redirectHint({ code, allowed_redirect_urls: urls }: App, url: string): string {
  const isPlain = /^https?:\/\/[\w.:/~-]+$/.test(url)
  const command = `authctl app update ${code} --redirect ${[...urls, url].map((one) => `'${one.replaceAll("'", "'\\''")}'`).join(' ')}`
  return `the app has sent ${url}.${isPlain ? ` This adds it: ${command}` : ''}`
}
