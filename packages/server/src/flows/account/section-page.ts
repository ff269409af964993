import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, errorCodes, fieldError, isErrorCode } from '../../errors.ts'
import { type AccountQuery, accountPath } from '../../lib/account-sections.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import type { PagePlace } from '../../lib/html.ts'
import { MAX_PASSWORD_BYTES } from '../../lib/password.ts'
import type { App } from '../../models/app.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import type { FormRefusal } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import type { DoneWord } from '../../pages/texts/account/account-texts.ts'
import type { PageTexts } from '../../pages/texts/page-texts.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { callerOfBrowser, findBrowserSession, noteBrowserUse } from '../../resources/sessions/browser-sessions.ts'
import { userOf } from '../../resources/users/present.ts'
import { authorizePath } from '../oauth/request-parameters.ts'
import {
  assertPagesOn,
  cookiesOf,
  deviceCookie,
  markBrowser,
  type PageAnswer,
  refusalOf,
  startAgainView,
  toldView,
} from '../sign-in/page-answer.ts'
import { askForPasskey } from '../sign-in/passkey.ts'
import { proveByPasskey, proveByPassword } from '../sign-in/prove-again.ts'
import { openField, requestLifeMs, type SaidRefusal, sealField, ticketLifeMs } from '../sign-in/sealed-fields.ts'
import type { AccountForm, AccountPageQuery } from './schema.ts'
import { type Done, type Person, type PersonActor, refuseChange, type Section } from './section.ts'
import { codesView, sectionView } from './section-views.ts'

/**
 * Shows a section of the account page to the person who is signed in in this browser. Somebody who is not is asked to, and comes
 * back. Changes nothing.
 */
export async function showSection(
  deps: Deps,
  section: Section,
  { said: sealed, ...named }: AccountPageQuery,
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const now = deps.clock()
  const live = await findBrowserSession(deps, cookies.session)
  const app = await findAppOfPage(deps, named.app)
  const query = queryOf(named)
  const place = app && placeOf(deps.config, app)
  const texts = textsFor({ accepts: origin.languages, locale: live && userOf(live).locale, place })
  const outcome = openField(deps, 'account', cookies.browser, sealed || undefined)
  if (!live && outcome?.done === 'deleted') return { view: toldView(texts, texts.account.delete.done, 200, place) }
  if (!live) return app ? { location: signInPath(section, query, app) } : { view: toldView(texts, texts.passkeys.noApp, 400) }

  const { browser, marked } = markBrowser(cookies)
  const user = userOf(live)
  const caller = callerOfBrowser(deps, live)
  const own = outcome?.userId === user.id && outcome.section === section.name ? outcome : undefined
  const person: Person = {
    ...{ live, user, caller, app, place, browser, texts, query, origin, said: own?.refusal },
    isFresh: refuseChange(deps, live) === undefined,
    seed: own?.seed,
    hidden: {
      field: sealField(deps, 'account', browser, { section: section.name, userId: user.id, sealedAt: now, seed: own?.seed }),
      ...hiddenOf(query),
    },
    refusal: formRefusalOf(own?.refusal),
  }
  const view = { person, section, signIn: app && `${signInPath(section, query, app)}&prompt=login` }
  if (own?.codes && now - own.sealedAt <= ticketLifeMs) return { view: codesView(view, own.codes), ...marked }
  const shown = await section.show(deps, person)
  const asks = !person.isFresh && section.steps !== undefined
  const passkey = asks && live.has_passkey ? await askForPasskey(deps, browser) : undefined
  return { view: sectionView(view, { shown, done: own?.done, asks, passkey }), ...marked }
}

function queryOf({ app, return_to: returnTo }: { app: string; return_to: string }): AccountQuery {
  return { app, returnTo }
}

function hiddenOf({ app, returnTo }: AccountQuery): Record<string, string> {
  return { app, ...(returnTo && { return_to: returnTo }) }
}

function signInPath({ name }: Section, { returnTo }: AccountQuery, { code }: App): string {
  const asked = new URLSearchParams({ client_id: code, account: name, ...(returnTo && { return_to: returnTo }) })
  return `${authorizePath}?${asked}`
}

/** The app whose pools and look count for somebody who signs in for the page: the named one, or else the default one. */
async function findAppOfPage(deps: Deps, named: string): Promise<App | undefined> {
  const code = named || deps.config.defaultAppCode
  const app = code === undefined ? undefined : await (await readCatalog(deps)).findApp({ code })
  return app?.status === 'active' ? app : undefined
}

/** The app that a form of the page names, which anybody can have written. */
export async function findPlaceOfPage(deps: Deps, { app: code }: { app: string }): Promise<PagePlace | undefined> {
  const app = await findAppOfPage(deps, code)
  return app && placeOf(deps.config, app)
}

function formRefusalOf(said: SaidRefusal | undefined): FormRefusal | undefined {
  if (!said || !isErrorCode(said.code)) return undefined
  const { code } = said
  const wrongCode: FormRefusal['faults'] = code === 'invalid_two_factor_code' ? { two_factor_code: 'wrong_or_used' } : {}
  const faults = { ...said.faults, ...wrongCode }
  return { status: errorCodes[code].status, code, faults, focus: Object.keys(faults)[0], retryAfter: said.retryAfter }
}

/** Takes a form of a section. Whatever comes of it, the browser goes on to the section. */
export async function takeForm(
  deps: Deps<Pool>,
  section: Section,
  form: AccountForm,
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const { browser } = cookies
  const query = queryOf(form)
  const sealed = openField(deps, 'account', browser, form.field)
  const now = deps.clock()
  if (browser === undefined || sealed?.section !== section.name || now - sealed.sealedAt > requestLifeMs) {
    const place = await findPlaceOfPage(deps, form)
    const texts: PageTexts = textsFor({ accepts: origin.languages, place })
    return { view: startAgainView(texts, accountPath(section.name, query), place) }
  }
  const live = await findBrowserSession(deps, cookies.session)
  // Somebody else may have signed in meanwhile, in another tab.
  if (!live || live.user_id !== sealed.userId) return { location: accountPath(section.name, query) }
  const tell = (said: Said) => pathWith(deps, section, query, { browser, userId: sealed.userId }, said)
  const actor = { caller: callerOfBrowser(deps, live), origin }
  try {
    const outcome = await change(deps, section, form, { live, browser }, actor)
    if (!outcome) return { location: accountPath(section.name, query) }
    const { done, codes, seed, secrets, deviceToken, isOver, leadsTo, refusal } = outcome
    if (leadsTo !== undefined) return { location: leadsTo }
    if (isOver) return { location: tell({ done: 'deleted' }), cookies: { session: null } }
    const cookies = {
      ...(deviceToken !== undefined && { device: deviceCookie(deviceToken) }),
      ...(secrets && cookiesOf(secrets)),
    }
    return { location: tell({ done, codes, seed, refusal }), cookies }
  } catch (error) {
    const refusal = refusalOf(error)
    // The session has ended meanwhile. The page says what is to be done.
    if (refusal.code === 'token_revoked') return { location: accountPath(section.name, query) }
    return { location: tell({ refusal, seed: sealed.seed }), errorCode: refusal.code }
  }
}

/** What a section is to say when it is shown next. */
interface Said {
  refusal?: SaidRefusal | undefined
  done?: DoneWord | 'deleted' | undefined
  codes?: string[] | undefined
  seed?: string | undefined
}

/** The section, with what it is to say to this person in this browser. */
export function pathWith(
  deps: Deps,
  { name }: Pick<Section, 'name'>,
  query: AccountQuery,
  { browser, userId }: { browser: string; userId: string },
  said: Said,
): string {
  const sealed = { section: name, userId, sealedAt: deps.clock(), ...said }
  return accountPath(name, query, sealField(deps, 'account', browser, sealed))
}

async function change(
  deps: Deps<Pool>,
  section: Section,
  form: AccountForm,
  { live, browser }: { live: LiveBrowserSession; browser: string },
  actor: PersonActor,
): Promise<Done | undefined> {
  if (form.step === 'prove') return { secrets: await prove(deps, form, { live, browser }, actor) }
  const { steps = {} } = section
  const step = Object.hasOwn(steps, form.step) ? steps[form.step] : undefined
  if (!step) throw new ApiError('not_found')
  const refusal = refuseChange(deps, live)
  if (refusal) throw new ApiError(refusal.code)
  await noteBrowserUse(deps, live)
  return step(deps, form, { live, browser, app: await findAppOfPage(deps, form.app) }, actor)
}

async function prove(
  deps: Deps<Pool>,
  { passkey, passkey_challenge: field, password, two_factor_code: code }: AccountForm,
  { live, browser }: { live: LiveBrowserSession; browser: string },
  actor: PersonActor,
) {
  if (passkey !== '') return proveByPasskey(deps, live, { sent: passkey, field, browser }, actor)
  if (password === '') throw fieldError('password', 'required', 'is required')
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) throw new ApiError('invalid_credentials')
  return proveByPassword(deps, live, { password, code: code.trim() || undefined }, actor)
}
