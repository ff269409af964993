import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { html, type PageView } from '../../lib/html.ts'
import { hasAnswerMember, isExactRedirectUrl, withAnswer } from '../../lib/redirect-url.ts'
import type { App } from '../../models/app.ts'
import { Session } from '../../models/session.ts'
import { stepForm } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { endBrowserSession, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { userOf } from '../../resources/users/present.ts'
import { assertPagesOn, markBrowser, type PageAnswer, toldView } from '../sign-in/page-answer.ts'
import { openField, requestLifeMs, sealField } from '../sign-in/sealed-fields.ts'
import { readIdTokenHint } from './id-token.ts'
import { startAgain } from './request-pages.ts'

interface LogoutRequest {
  client_id?: string | undefined
  post_logout_redirect_uri?: string | undefined
  state?: string | undefined
  id_token_hint?: string | undefined
  ui_locales?: string | undefined
}

/**
 * Where a person goes after signing out, and the session that a hint names. `location` is null without an app or a redirect URL
 * that is good: then a page says that it is done. With a hint that we have not signed, or for another app than the request names,
 * the rest may be forged too.
 */
async function readLogout(
  deps: Deps,
  { client_id: named, post_logout_redirect_uri: url, state, id_token_hint: hint }: LogoutRequest,
): Promise<{ app: App | undefined; location: string | null; hinted: string | undefined }> {
  const told = hint === undefined ? undefined : await readIdTokenHint(deps, hint)
  const isHintGood = told !== undefined && (named === undefined || named === told.appCode)
  const code = named ?? told?.appCode
  const app = code === undefined ? undefined : await (await readCatalog(deps)).findApp({ code })
  const isGood =
    (hint === undefined || isHintGood) &&
    app !== undefined &&
    url !== undefined &&
    isExactRedirectUrl(url, app.allowed_redirect_urls) &&
    !hasAnswerMember(url)
  const location = isGood ? (state === undefined ? url : withAnswer(url, { state })) : null
  return { app, location, hinted: isHintGood ? told.sessionId : undefined }
}

/** Signs a person out in this browser, and in the apps that they entered from it. */
async function logOutBrowser(deps: Deps<Pool>, secret: string | undefined, actor: Actor): Promise<void> {
  const live = await findBrowserSession(deps, secret)
  if (!live) return
  const id = live.browser_session_id
  await transaction(deps, (deps) => endBrowserSession(deps, { id, reason: 'logout', withApps: true }, actor))
}

/** Signs out at once with a hint of a session that came from this browser. Otherwise asks, or says that it is done. */
export async function askLogout(
  deps: Deps<Pool>,
  { done, ...query }: LogoutRequest & { done?: string | undefined },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const reader = { uiLocales: query.ui_locales, accepts: actor.origin.languages }
  const { app, location, hinted } = await readLogout(deps, query)
  const place = app && placeOf(deps.config, app)
  if (done === 'yes') {
    const texts = textsFor({ ...reader, place })
    return { view: toldView(texts, texts.signOut.done, 200, place) }
  }
  const { browser, marked } = markBrowser(cookies)
  const now = deps.clock()
  const members = Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const live = await findBrowserSession(deps, cookies.session)
  if (live && hinted !== undefined) {
    const browserSessionId = live.browser_session_id
    if (await Session.find(deps.db, { id: hinted, browser_session_id: browserSessionId }).select('id')) {
      await logOutBrowser(deps, cookies.session, actor)
      return { location: location ?? donePath(app, query), cookies: { session: null } }
    }
  }
  const { language, signOut } = textsFor({ ...reader, locale: live && userOf(live).locale, place })
  const asked = new URLSearchParams(members)
  // Then nobody is signed in any more.
  asked.set('ui_locales', language)
  const form = { query: asked.toString() }
  const request = sealField(deps, 'logout', browser, { ...form, sealedAt: now })
  const view: PageView = {
    status: 200,
    language,
    title: signOut.title,
    place,
    leadsTo: location === null ? [] : [location],
    body: html`<p>${signOut.text}</p>
${stepForm({ action: '/oauth/logout', hidden: { request, ...form }, button: signOut.button })}`,
  }
  return { view, ...marked }
}

export async function answerLogout(
  deps: Deps<Pool>,
  form: { request: string; query: string },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const opened = openField(deps, 'logout', cookies.browser, form.request)
  if (!opened || deps.clock() - opened.sealedAt > requestLifeMs)
    return { view: await startAgain(deps, { path: '/oauth/logout', query: form.query }, actor) }
  await logOutBrowser(deps, cookies.session, actor)
  const request: LogoutRequest = Object.fromEntries(new URLSearchParams(opened.query))
  const { app, location } = await readLogout(deps, request)
  return { location: location ?? donePath(app, request), cookies: { session: null } }
}

/** Where our own page says that a person is signed out. */
function donePath(app: App | undefined, { ui_locales = '' }: LogoutRequest): string {
  return `/oauth/logout?${new URLSearchParams({ done: 'yes', client_id: app?.code ?? '', ui_locales })}`
}
