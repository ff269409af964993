import { hash } from 'node:crypto'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { deviceGrantType, hasScope } from '../../lib/open-id.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import type { ShownFactors } from '../../lib/proof.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { Membership } from '../../lib/records.ts'
import { withAnswer } from '../../lib/redirect-url.ts'
import { App } from '../../models/app.ts'
import { AuthorizationCode } from '../../models/authorization-code.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { DeviceCode } from '../../models/device-code.ts'
import { isAdminApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { getIdTokenKeys } from '../../resources/id-token-keys/id-token-keys.ts'
import { findAcceptableInvitation } from '../../resources/invitations/invitations.ts'
import { findBrowserSession, noteBrowserUse } from '../../resources/sessions/browser-sessions.ts'
import { isTrustedAt } from '../../resources/trusted-browsers/trusted-browsers.ts'
import { findUserInPools, listMemberships } from '../../resources/users/find-users.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { foreseeEntry } from '../sign-in/enter.ts'
import type { Resume } from '../sign-in/sealed-fields.ts'
import { type AuthorizationRequest, errorLocation } from './authorization-request.ts'
import { isOwnedRedirect, type NextStep, nextStep, type SignedIn, type Situation } from './next-step.ts'

const codeLifeMs = 60_000
/** How new the proofs are with which a person lets a device administer the service. */
const freshSeconds = 600

/** Who is signed in in the browser, as an app would see them. */
export interface Person {
  live: LiveBrowserSession
  user: PooledUser
  organizations: Membership[]
}

/** What a browser is to be shown for a request, or where it goes. */
export type Authorized =
  | { location: string }
  | { step: Exclude<NextStep, { enter: string } | { error: string }>; person: Person | undefined }

/**
 * Decides what happens next with an authorization request, from who is signed in in this browser. Gives a code only where silent
 * entry is allowed. Writes nothing else. While somebody else is half way through signing in, nobody enters.
 */
export async function authorize(
  deps: Deps<Pool>,
  request: AuthorizationRequest,
  { live, halfWay }: { live: LiveBrowserSession | undefined; halfWay: Pick<Resume, 'ticket' | 'named'> | undefined },
  actor: Actor,
): Promise<Authorized> {
  const { person, situation } = await look(deps, request, live, actor)
  const step = nextStep(situation)
  if (person && halfWay && isOfAnother(halfWay, person.user)) return { step: { ask: 'sign_in' }, person }
  // The page does not begin with the address of somebody whom the app does not expect.
  if ('ask' in step && step.ask === 'sign_in' && situation.request.hint !== undefined) return { step, person: undefined }
  if ('error' in step) return { location: errorLocation(deps, request, step.error, descriptions[step.error]) }
  if (!('enter' in step) || !person) return { step: 'enter' in step ? { ask: 'sign_in' } : step, person }
  if (request.isForAccount) return { location: request.redirectUri.slice(deps.config.publicUrl.length) }
  return { location: await giveCode(deps, request, person, request.organizationId, actor) }
}

function isOfAnother({ ticket, named }: Pick<Resume, 'ticket' | 'named'>, user: PooledUser): boolean {
  return (ticket !== undefined && ticket.userId !== user.id) || (named !== undefined && named.email !== user.email)
}

/** What a browser is to be shown for a request now. A step that writes asks it: its form may be older, or not of our making. */
export async function foreseeStep(
  deps: Deps,
  request: AuthorizationRequest,
  secret: string | undefined,
  actor: Actor,
): Promise<{ person: Person | undefined; step: NextStep }> {
  const { person, situation } = await look(deps, request, await findBrowserSession(deps, secret), actor)
  return { person, step: nextStep(situation) }
}

const descriptions = {
  login_required: 'The person has to sign in',
  interaction_required: 'The person has to do something first',
}

/**
 * Enters an app as the person who is signed in, who has agreed to it on a page. Returns where the browser goes. Returns undefined if
 * the page is no longer the right one, so that the next one is shown instead.
 */
export async function continueAs(
  deps: Deps<Pool>,
  request: AuthorizationRequest,
  { secret, userId, organizationId }: { secret: string | undefined; userId: string; organizationId: string | undefined },
  actor: Actor,
): Promise<string | undefined> {
  const chosen = { ...request, organizationId: organizationId ?? request.organizationId }
  const { person, situation } = await look(deps, chosen, await findBrowserSession(deps, secret), actor)
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

/** Reads everything that decides. */
async function look(
  deps: Deps,
  request: AuthorizationRequest,
  live: LiveBrowserSession | undefined,
  actor: Actor,
): Promise<{ person: Person | undefined; situation: Situation }> {
  const { app, prompt, begunAt, redirectUri, device } = request
  // With one code that an admin was talked into typing, a stranger would administer the service.
  const isStrict = device !== undefined && isAdminApp(deps.config, app)
  const demandsMfa = request.demandsMfa || isStrict
  const maxAgeSeconds = isStrict ? freshSeconds : request.maxAgeSeconds
  const situation: Situation = {
    now: deps.clock(),
    request: {
      prompt,
      maxAgeSeconds,
      demandsMfa,
      begunAt,
      hasInvite: request.invite !== undefined,
      canJoin: false,
      // The page for a device says what it is about, so no other page stands in its place.
      hasOrganization: device !== undefined || request.organizationId !== undefined,
      // A person allows every sign-in of a device.
      isRedirectOwned: device === undefined && isOwnedRedirect(redirectUri, deps.config),
    },
    app: {
      singleSignOn: app.single_sign_on,
      maxSignInAgeSeconds: app.max_sign_in_age_seconds,
      isAdminApp: isAdminApp(deps.config, app),
    },
    signedIn: undefined,
  }
  if (!live) return { person: undefined, situation }
  const user = userOf(live)
  const shown = { ...shownIn(live), isTrusted: isTrusted(deps, request, live) }
  if (request.isForAccount) {
    // There is no gate: the page is open to the person who is signed in, once they have shown all their factors.
    const signedIn = { ...shown, isNamedHere: true, hasEntered: true, refusal: undefined, organizations: 0 }
    const own = { ...situation.request, isRedirectOwned: true }
    const page = { singleSignOn: true, maxSignInAgeSeconds: null, isAdminApp: false }
    return { person: { live, user, organizations: [] }, situation: { ...situation, request: own, app: page, signedIn } }
  }
  const [named, { appFloor, ...foreseen }, organizations, canJoin] = await Promise.all([
    live.has_namesake ? findUserInPools(deps, user.email, poolSet(app)) : isInPools(user, poolSet(app)) ? user : undefined,
    foreseeEntry(deps, { user, app, organizationId: request.organizationId, shown: factorsOf(live, shown) }, actor),
    live.is_member ? listMemberships(deps, user.id) : [],
    request.invite === undefined ? false : canAccept(deps, request.invite, user),
  ])
  const signedIn = {
    ...shown,
    isNamedHere: named?.id === user.id,
    ...foreseen,
    // An admin works on the service itself, not for an organization.
    organizations: isAdminApp(deps.config, app) ? 0 : organizations.length,
  }
  // A code of this proof would open nothing: the user's access to the app was ended since, and given again.
  const isCutOff = live.version < appFloor
  return {
    person: { live, user, organizations },
    situation: {
      ...situation,
      request: { ...situation.request, canJoin, hint: hintFor(request, user) },
      signedIn: isCutOff ? undefined : signedIn,
    },
  }
}

function hintFor({ hintedUserId }: AuthorizationRequest, { id }: PooledUser): Situation['request']['hint'] {
  if (hintedUserId === undefined || hintedUserId === id) return undefined
  return hintedUserId === null ? 'unknown' : 'another'
}

/** What was shown in a browser session, by the factors that the user has now. */
function shownIn(
  live: LiveBrowserSession,
): Pick<SignedIn, 'firstProvenAt' | 'signedInAt' | 'lastSeenAt' | 'secondProvenAt' | 'hasSecondFactor' | 'hasPasskey'> {
  const { factor_activated_at: activatedAt, second_activated_at: shownOf, second_proven_at: shownAt } = live
  return {
    firstProvenAt: live.first_proven_at,
    signedInAt: live.signed_in_at ?? live.first_proven_at,
    lastSeenAt: live.last_seen_at,
    // Without an active factor, only a passkey can have been shown that still counts.
    secondProvenAt: shownOf === activatedAt && live.second_factor !== 'trusted' ? shownAt : null,
    hasSecondFactor: activatedAt !== null,
    hasPasskey: Boolean(live.has_passkey),
  }
}

/** The same, as the gate judges it. */
function factorsOf(
  { first_factor: method, second_proven_at: trustedSince }: LiveBrowserSession,
  { secondProvenAt, signedInAt, isTrusted }: Pick<SignedIn, 'secondProvenAt' | 'signedInAt' | 'isTrusted'>,
): ShownFactors {
  if (secondProvenAt !== null) return { method, second: 'shown', shownAt: secondProvenAt }
  if (isTrusted && trustedSince !== null) return { method, second: 'trusted', shownAt: trustedSince }
  return { method, second: null, shownAt: signedInAt }
}

async function canAccept(deps: Deps, token: string, user: PooledUser): Promise<boolean> {
  const invitation = await findAcceptableInvitation(deps, token, user)
  return invitation !== undefined && (await listMemberships(deps, user.id, invitation.organization_id)).length === 0
}

/** Whether the trust that a person signed in with counts for this request, which may be another app's. */
function isTrusted(deps: Deps, request: AuthorizationRequest, live: LiveBrowserSession): boolean {
  const { second_factor: kind, second_activated_at: shownOf, second_proven_at: provenAt, factor_activated_at: activatedAt } = live
  const holds = kind === 'trusted' && shownOf === activatedAt && provenAt !== null
  return holds && takesTrust(deps, request) && isTrustedAt(request.app, provenAt, deps.clock())
}

/** Whether a second factor of an earlier day counts for a request: at the apps that allow it, and never where proofs must be new. */
export function takesTrust(deps: Deps, { app, isForAccount, demandsMfa, maxAgeSeconds, prompt }: AuthorizationRequest): boolean {
  const isStepUp = demandsMfa || maxAgeSeconds !== undefined || prompt === 'login'
  return app.trust_device_days > 0 && !isForAccount && !isStepUp && !isAdminApp(deps.config, app)
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

/** What RFC 7636 takes for a verifier. A shorter one can be guessed from the challenge, which everybody sees. */
const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/

/** Whether a verifier belongs to a challenge (RFC 7636). Without a challenge there must be none. */
export function matchesChallenge(verifier: string | undefined, challenge: string | null): boolean {
  if (verifier === undefined) return challenge === null
  return verifierForm.test(verifier) && hash('sha256', verifier, 'base64url') === challenge
}

/** Throws if the pages are switched off. */
export function assertPagesOn({ config }: Deps): void {
  if (new URL(config.publicUrl).pathname !== '/') throw new ApiError('not_found', { detail: 'PUBLIC_URL has a path' })
}
