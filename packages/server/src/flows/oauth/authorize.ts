import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { deviceGrantType, hasScope } from '../../lib/open-id.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { withAnswer } from '../../lib/redirect-url.ts'
import { App } from '../../models/app.ts'
import { AuthorizationCode } from '../../models/authorization-code.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { DeviceCode } from '../../models/device-code.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { getIdTokenKeys } from '../../resources/id-token-keys/id-token-keys.ts'
import { findBrowserSession, noteBrowserUse } from '../../resources/sessions/browser-sessions.ts'
import type { Resume } from '../sign-in/sealed-fields.ts'
import { type AuthorizationRequest, errorLocation } from './authorization-request.ts'
import { type NextStep, nextPage, nextStep, type Person, type PersonPage, type WayOff, type WhoPage } from './next-step.ts'
import { readSituation } from './situation.ts'

const codeLifeMs = 60_000

/**
 * Decides what a browser is to be shown for a request, from who is signed in in it. Gives a code only where silent entry is
 * allowed. Writes nothing else.
 */
export async function authorize(
  deps: Deps<Pool>,
  request: AuthorizationRequest,
  { live, resume }: { live: LiveBrowserSession | undefined; resume: Resume | undefined },
  actor: Actor,
): Promise<WhoPage | PersonPage | WayOff | { location: string }> {
  const { person, situation } = await readSituation(deps, request, live, actor)
  const next = nextPage(situation, person, { resume, asked: request })
  if ('error' in next) return { location: errorLocation(deps, request, next.error, descriptions[next.error]) }
  if (!('enter' in next)) return next
  if (request.isForAccount) return { location: request.redirectUri.slice(deps.config.publicUrl.length) }
  return { location: await giveCode(deps, request, next.person, request.organizationId, actor) }
}

const descriptions = {
  login_required: 'The person has to sign in',
  interaction_required: 'The person has to do something first',
}

/**
 * The person of a form, if the page still asks them for this step. A step that writes checks it: its form may be older, or not of
 * our making, and somebody else may have signed in meanwhile.
 */
export async function findAsked(
  deps: Deps,
  { request, secret }: { request: AuthorizationRequest; secret: string | undefined },
  { userId, isAsked }: { userId: string | undefined; isAsked: (step: NextStep) => boolean },
  actor: Actor,
): Promise<Person | undefined> {
  const { person, situation } = await readSituation(deps, request, await findBrowserSession(deps, secret), actor)
  return person?.user.id === userId && isAsked(nextStep(situation)) ? person : undefined
}

/**
 * Enters an app as the person who is signed in, who has agreed to it on a page. Returns where the browser goes. Returns undefined
 * if the page is no longer the right one, so that the next one is shown instead.
 */
export async function continueAs(
  deps: Deps<Pool>,
  request: AuthorizationRequest,
  { secret, userId, organizationId }: { secret: string | undefined; userId: string; organizationId: string | undefined },
  actor: Actor,
): Promise<string | undefined> {
  const chosen = { ...request, organizationId: organizationId ?? request.organizationId }
  const { person, situation } = await readSituation(deps, chosen, await findBrowserSession(deps, secret), actor)
  // Somebody else may have signed in meanwhile, in another tab.
  if (!person || person.user.id !== userId) return undefined
  const hasChosen = {
    ...situation.request,
    hasOrganization: true,
    prompt: situation.request.prompt === 'none' ? undefined : situation.request.prompt,
  }
  const step = nextStep({ ...situation, request: hasChosen })
  const isDue = 'enter' in step || ('ask' in step && step.ask === 'continue')
  return isDue ? giveCode(deps, chosen, person, chosen.organizationId, actor) : undefined
}

/** Gives the app a code for the proof of a browser session, as of now. The exchange asks the gate. */
async function giveCode(
  deps: Deps<Pool>,
  request: AuthorizationRequest,
  { live, user }: Person,
  organizationId: string | undefined,
  actor: Actor,
): Promise<string> {
  // Made before the code is, so that its exchange does not wait for the first keys.
  if (hasScope(request.scope, 'openid')) await getIdTokenKeys(deps, live.catalog_generation)
  const now = deps.clock()
  const { device } = request
  const proven = provenBy(request, { live, user }, organizationId)
  if (device) {
    // The device exchanges its own code, which it has had from the start.
    const given = { hash: device.hash, redirect_uri: deviceGrantType, created_at: now, expires_at: device.expires_at }
    const isAllowed = await allowDevice(deps, { ...proven, ...given }, actor)
    return `/device?${new URLSearchParams({ app: request.app.code, said: isAllowed ? 'approved' : 'over' })}`
  }
  const code = newOpaqueToken(TOKEN_PREFIXES.authorizationCode)
  const given = { hash: hashOpaqueToken(code), redirect_uri: request.redirectUri, created_at: now, expires_at: now + codeLifeMs }
  await AuthorizationCode.issue(deps.db, { ...proven, ...given })
  await noteBrowserUse(deps, live)
  return withAnswer(request.redirectUri, { code, state: request.state, iss: deps.config.publicUrl })
}

async function allowDevice(
  deps: Deps<Pool>,
  code: Parameters<typeof AuthorizationCode.issue>[1],
  actor: Actor,
): Promise<boolean> {
  return transaction(deps, async (deps) => {
    const now = deps.clock()
    if (!(await App.keep(deps.db, code.app_id))) return false
    if (!(await DeviceCode.decide(deps.db, code.hash, { state: 'approved', now }))) return false
    await AuthorizationCode.issue(deps.db, code)
    await recordEvent(deps, { event: 'device_grant.approved', actor, userId: code.user_id, appId: code.app_id })
    return true
  })
}

/** What a code stands for. */
function provenBy(
  request: AuthorizationRequest,
  { live, user }: Pick<Person, 'live' | 'user'>,
  organizationId: string | undefined,
) {
  return {
    app_id: request.app.id,
    user_id: user.id,
    browser_session_id: live.browser_session_id,
    organization_id: organizationId ?? null,
    code_challenge: request.codeChallenge ?? null,
    nonce: request.nonce ?? null,
    scope: request.scope,
    version: live.version,
    first_factor: live.first_factor,
    first_proven_at: live.first_proven_at,
    signed_in_at: live.signed_in_at ?? live.first_proven_at,
    second_factor: live.second_factor,
    second_proven_at: live.second_proven_at,
    second_activated_at: live.second_activated_at,
  }
}
