import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Cookies } from '../../lib/cookies.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { randomText } from '../../lib/random.ts'
import type { App } from '../../models/app.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { placeOf } from '../../pages/place.ts'
import { textsFor } from '../../pages/texts/texts-for.ts'
import { allowsMethod } from '../../resources/apps/check-policy.ts'
import { getApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { takeByAddress } from '../../resources/rate-limits/take-by-address.ts'
import { callerOfBrowser, findBrowserSession } from '../../resources/sessions/browser-sessions.ts'
import { listProvidersOf } from '../../resources/sso-providers/get-provider.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { elsewhereView, startAgainView } from '../oauth/error-views.ts'
import { refusalOf } from '../oauth/pages.ts'
import { beginAtProvider } from '../sign-in/begin-at-provider.ts'
import { getAnsweredInBrowser } from '../sign-in/provider-answer.ts'
import { openField, type SaidRefusal, sealField } from '../sign-in/sealed-fields.ts'
import { completeLink } from '../sso/exchange-code.ts'
import { refuseChange } from './fresh.ts'
import { assertPagesOn, type PageAnswer, pathWith } from './page.ts'
import type { AccountForm, ConnectionQuery } from './schema.ts'
import type { Acting, PersonActor } from './section.ts'

/** Where the callback of a provider leads, which reads no cookie itself. */
export const connectionPath = '/account/identities/return'
/** The clock of a provider may be behind, and it writes whole seconds. */
const clockToleranceMs = 30_000

/**
 * The providers that somebody can connect an account of: those with which they can then sign in to the app of the page, if it takes new
 * accounts of them.
 */
export async function listConnectable(deps: Deps, user: PooledUser, app: App | undefined): Promise<SsoProvider[]> {
  if (!app || !isInPools(user, poolSet(app))) return []
  return (await listProvidersOf(deps, app)).filter(({ code }) => allowsMethod(app, code))
}

/**
 * Begins to connect an account at a provider. Returns where the browser goes. Only this browser session can come back. The provider is
 * asked to have the person sign in: somebody else may be signed in there.
 */
export async function beginToConnect(
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
  const carried = openField(deps, 'connection', browser, pending.request_field ?? undefined)
  if (browser === undefined || !carried) {
    const place = placeOf(deps.config, await getApp(deps, pending.app_id))
    return { view: elsewhereView(textsFor({ accepts: origin.languages, place }), place) }
  }
  const { userId, sessionId, ...query } = carried
  const live = await findBrowserSession(deps, cookies.session)
  const tell = (said: { done?: string; refusal?: SaidRefusal }) =>
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
    return { location: tell({ refusal }), errorCode: refusal.code as ErrorCode }
  }
}
