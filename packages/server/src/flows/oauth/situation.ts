import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import type { ShownFactors } from '../../lib/proof.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { isAdminApp } from '../../resources/apps/apps.ts'
import { findAcceptableInvitation } from '../../resources/invitations/invitations.ts'
import { isTrustedAt } from '../../resources/trusted-browsers/trusted-browsers.ts'
import { findUserInPools, listMemberships } from '../../resources/users/find-users.ts'
import { type PooledUser, userOf } from '../../resources/users/present.ts'
import { foreseeEntry } from '../sign-in/enter.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { isOwnedRedirect, type Person, type SignedIn, type Situation } from './next-step.ts'

/** How new the proofs are with which a person lets a device administer the service. */
const freshSeconds = 600

/** Reads everything that decides what comes next with a request, without writing. */
export async function readSituation(
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

/**
 * Whether a second factor of an earlier day counts for a request: at the apps that allow it, and never where proofs must be new.
 */
export function takesTrust(deps: Deps, { app, isForAccount, demandsMfa, maxAgeSeconds, prompt }: AuthorizationRequest): boolean {
  const isStepUp = demandsMfa || maxAgeSeconds !== undefined || prompt === 'login'
  return app.trust_device_days > 0 && !isForAccount && !isStepUp && !isAdminApp(deps.config, app)
}
