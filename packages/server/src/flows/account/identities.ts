import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { html } from '../../lib/html.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { hashOpaqueToken, randomText } from '../../lib/random.ts'
import type { App } from '../../models/app.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { dayOf, providerName } from '../../pages/fields.ts'
import { placeOf } from '../../pages/place.ts'
import type { DoneWord } from '../../pages/texts/account/account-texts.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { allowsMethod } from '../../resources/apps/app-settings.ts'
import { getApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { listIdentities } from '../../resources/identities/identities.ts'
import { takeByAddress } from '../../resources/rate-limits/rate-limits.ts'
import { callerOfBrowser, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { listProvidersOf } from '../../resources/sso-providers/sso-providers.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { assertPagesOn, elsewhereView, type PageAnswer, refusalOf, startAgainView } from '../sign-in/page-answer.ts'
import { beginAtProvider, getAnsweredInBrowser } from '../sign-in/provider-login.ts'
import { openField, type SaidRefusal, sealField } from '../sign-in/sealed-fields.ts'
import { completeLink, unlinkIdentity } from '../sso/identity-link.ts'
import type { AccountForm, ConnectionQuery } from './schema.ts'
import { type Acting, idIn, type PersonActor, paragraph, refuseChange, type Section, sectionForm } from './section.ts'
import { pathWith } from './section-page.ts'

/** Usually there is one for each provider. */
const most = { limit: 50 }

/** The accounts at providers that the person can sign in with. */
export const identities: Section = {
  name: 'identities',
  title: ({ account }) => account.sections.identities,
  async show(deps, person) {
    const { texts, user, app, isFresh } = person
    const { none, linked, unlink, connect } = texts.account.identities
    const { items } = await listIdentities(deps, user.id, most)
    const list = items.map(({ id, provider, created_at }) => {
      const name = providerName(provider.code)
      const form = () =>
        sectionForm('identities', person, { step: 'unlink', values: { id }, button: unlink(name), isQuiet: true })
      return html`<h2>${name}</h2>
${paragraph(linked(dayOf(texts, created_at)))}${isFresh && form()}`
    })
    const known = new Set(items.map(({ provider }) => provider.code))
    const offered = (await listConnectable(deps, user, app)).filter(({ code }) => !known.has(code))
    const offers = offered.map(({ code }) => {
      const button = connect(providerName(code))
      return sectionForm('identities', person, { step: 'connect', values: { id: code }, button, isQuiet: true })
    })
    const leadsTo = isFresh ? offered.map(({ issuer }) => issuer) : []
    return { body: html`${items.length === 0 ? paragraph(none) : list}${isFresh && offers}`, leadsTo }
  },
  steps: {
    async connect(deps, form, acting, actor) {
      try {
        return { leadsTo: await beginToConnect(deps, form, acting, actor) }
      } catch (error) {
        if (!(error instanceof ApiError) || error.code !== 'unavailable') throw error
        return { refusal: { code: 'provider_temporarily_unavailable', faults: {} } }
      }
    },
    async unlink(deps, form, _, actor) {
      const unproven = { password: undefined, two_factor_code: undefined }
      await unlinkIdentity(deps, { ...unproven, identityId: idIn(form) }, actor.caller, actor)
      return { done: 'unlinked' }
    },
  },
  faultOf(texts, { code }) {
    const { refusals } = texts.account.identities
    if (code === 'provider_access_denied') return texts.providers.denied
    if (code === 'identity_in_use') return refusals.inUse
    return failedAtProvider.has(code) ? refusals.failed : undefined
  },
}

/** After these, the person can only try again. */
const failedAtProvider: ReadonlySet<string> = new Set([
  'app_inactive',
  'auth_method_not_allowed',
  'invalid_sso_code',
  'provider_login_too_old',
  'provider_server_error',
  'provider_temporarily_unavailable',
  'sso_provider_disabled',
])

/** Where the callback of a provider leads, which reads no cookie itself. */
export const connectionPath = '/account/identities/return'
/** The clock of a provider may be behind, and it writes whole seconds. */
const clockToleranceMs = 30_000

/**
 * The providers that somebody can connect an account of: those with which they can then sign in to the app of the page, if it takes
 * new accounts of them.
 */
async function listConnectable(deps: Deps, user: PooledUser, app: App | undefined): Promise<SsoProvider[]> {
  if (!app || !isInPools(user, poolSet(app))) return []
  return (await listProvidersOf(deps, app)).filter(({ code }) => allowsMethod(app, code))
}

/**
 * Begins to connect an account at a provider. Returns where the browser goes. Only this browser session can come back. The provider
 * is asked to have the person sign in: somebody else may be signed in there.
 */
async function beginToConnect(
  deps: Deps<Pool>,
  { id: code, app: query, return_to: returnTo }: AccountForm,
  { live, browser, app }: Acting,
  actor: PersonActor,
): Promise<string> {
  const provider = (await listConnectable(deps, userOf(live), app)).find((offered) => offered.code === code)
  if (!app || !provider) throw new ApiError('not_found')
  // Each call leaves a row for ten minutes.
  await takeByAddress(deps, 'sso-start', actor.origin.ip)
  const { user_id: userId, browser_session_id: sessionId } = live
  const requestField = sealField(deps, 'connection', browser, { userId, sessionId, app: query, returnTo })
  const location = await beginAtProvider(
    deps,
    {
      ...{ provider, app, sessionId },
      page: { browserHash: hashOpaqueToken(browser), requestField },
      // With an age a provider has to say when the person signed in there.
      fresh: { prompt: 'login', maxAgeSeconds: deps.config.sessionMaxSeconds },
    },
    {
      redirect_url: `${deps.config.publicUrl}${connectionPath}`,
      // As for a sign-in on the page.
      ...{ state: '', code_challenge: randomText(32) },
    },
  )
  await recordEvent(deps, { event: 'identity.link_started', actor, userId, appId: app.id, details: { provider: code } })
  return location
}

/**
 * Takes the browser that a provider has sent back. A GET that changes something: its answer counts only in the browser session that
 * began, whose person must still be fresh. So nobody can be led to connect the account of somebody else.
 */
export async function answerConnection(
  deps: Deps<Pool>,
  { state, code, error }: ConnectionQuery,
  cookies: Cookies,
  { origin }: Pick<Actor, 'origin'>,
): Promise<PageAnswer> {
  assertPagesOn(deps)
  const { browser } = cookies
  const pending = await SsoLogin.findOfPage(deps.db, hashOpaqueToken(state), deps.clock())
  if (!pending) return { view: startAgainView(textsFor({ accepts: origin.languages }), undefined) }
  const opened = openField(deps, 'connection', browser, pending.request_field ?? undefined)
  if (browser === undefined || !opened) {
    const place = placeOf(deps.config, await getApp(deps, pending.app_id))
    return { view: elsewhereView(textsFor({ accepts: origin.languages, place }), place) }
  }
  const { userId, sessionId, ...query } = opened
  const live = await findBrowserSession(deps, cookies.session)
  const tell = (said: { done?: DoneWord; refusal?: SaidRefusal }) =>
    pathWith(deps, { name: 'identities' }, query, { browser, userId }, said)
  // Signed out meanwhile, or somebody else is signed in now: the page says nothing to them.
  if (live?.browser_session_id !== sessionId) return { location: tell({}) }
  if (code === '') return { location: tell({ refusal: { code: `provider_${error}`, faults: {} } }) }
  try {
    const refusal = refuseChange(deps, live)
    if (refusal) throw new ApiError(refusal.code)
    const app = await getApp(deps, pending.app_id)
    const browserHash = hashOpaqueToken(browser)
    const answered = await getAnsweredInBrowser(deps, code, { browserHash, appId: app.id, sessionId })
    const { signedInAt = null } = answered.profile
    const isOld = signedInAt !== null && signedInAt + clockToleranceMs < pending.created_at
    if (isOld) return { location: tell({ refusal: { code: 'provider_login_too_old', faults: {} } }) }
    await completeLink(deps, { ...answered, app }, { caller: callerOfBrowser(deps, live), origin })
    return { location: tell({ done: 'connected' }) }
  } catch (error) {
    const refusal = refusalOf(error)
    return { location: tell({ refusal }), errorCode: refusal.code }
  }
}
