import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { html, type PageView } from '../../lib/html.ts'
import type { App } from '../../models/app.ts'
import { field, stepForm } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { userOf } from '../../resources/users/present.ts'
import { assertPagesOn, markBrowser, type PageAnswer, toldView } from '../sign-in/page-answer.ts'
import { openField, requestLifeMs, sealField } from '../sign-in/sealed-fields.ts'
import { devicePath, findDeviceByUserCode } from './device-grant.ts'
import { startAgain } from './request-pages.ts'
import { authorizePath } from './request-parameters.ts'

/** The app whose pools and look count until the code is known: the one that is named, the default one, or that of `authctl`. */
async function findAppOfPage(deps: Deps, named: string): Promise<App | undefined> {
  const code = named || deps.config.defaultAppCode || 'authctl'
  const app = await (await readCatalog(deps)).findApp({ code })
  return app?.status === 'active' ? app : undefined
}

/** Asks the person who is signed in in this browser for the code that a device shows, or says what became of it. */
export async function showDevicePage(
  deps: Deps,
  { app: named, said }: { app: string; said: string },
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const app = await findAppOfPage(deps, named)
  if (!app) throw new ApiError('not_found', { detail: 'No app has this code' })
  const live = await findBrowserSession(deps, cookies.session)
  const place = placeOf(deps.config, app)
  const texts = textsFor({ accepts: origin.languages, locale: live && userOf(live).locale, place })
  const { approved, denied, enter } = texts.device
  if (said === 'approved') return { view: toldView(texts, approved, 200, place) }
  if (said === 'denied') return { view: toldView(texts, denied, 200, place) }
  if (!live) return { location: `${authorizePath}?${new URLSearchParams({ client_id: app.code, account: 'device' })}` }
  const { browser, marked } = markBrowser(cookies)
  const query = new URLSearchParams({ app: app.code }).toString()
  const request = sealField(deps, 'device_form', browser, { userId: live.user_id, sealedAt: deps.clock() })
  const fault = said === 'wrong' ? enter.wrong : said === 'limited' ? enter.limited : said === 'over' ? enter.over : undefined
  return { view: enterView(texts, { place, fault, hidden: { request, query } }), ...marked }
}

function enterView(
  texts: PageTexts,
  { place, fault, hidden }: Pick<PageView, 'place'> & { fault: string | undefined; hidden: Record<string, string> },
): PageView {
  const { enter } = texts.device
  const { title, text, label, hint, button } = enter
  return {
    ...{ status: 200, language: texts.language, title, place },
    body: html`<p>${text}</p>
${fault && html`<p class="fault alert" role="alert">${fault}</p>\n`}${stepForm(
  { action: '/device', hidden, button },
  field(texts, { name: 'user_code', label, hint, type: 'text', autocomplete: 'off' }),
)}`,
  }
}

/** Takes the code that a person has typed, and leads on to where they allow the sign-in, or sign in for the app first. */
export async function takeUserCode(
  deps: Deps<Pool>,
  form: { request: string; query: string; user_code: string },
  cookies: Cookies,
  actor: Actor,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const { browser } = cookies
  const sealed = openField(deps, 'device_form', browser, form.request)
  const live = await findBrowserSession(deps, cookies.session)
  const now = deps.clock()
  if (browser === undefined || !sealed || now - sealed.sealedAt > requestLifeMs || live?.user_id !== sealed.userId)
    return { view: await startAgain(deps, { path: '/device', query: form.query }, actor) }
  const code = new URLSearchParams(form.query).get('app') ?? ''
  let device: Awaited<ReturnType<typeof findDeviceByUserCode>>
  try {
    device = await findDeviceByUserCode(deps, { typed: form.user_code, userId: live.user_id }, actor)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'rate_limited')
      return { location: devicePath(code, 'limited'), errorCode: 'rate_limited' }
    throw error
  }
  if (!device) return { location: devicePath(code, 'wrong') }
  const app = await (await readCatalog(deps)).findApp({ id: device.app_id })
  const field = sealField(deps, 'device', browser, { hash: device.hash })
  return { location: `${authorizePath}?${new URLSearchParams({ client_id: app?.code ?? '', device: field })}` }
}
