import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { isVerifiedFor } from '../../lib/account-record.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import type { Actor, ClientCaller } from '../../lib/caller.ts'
import type { Keyring } from '../../lib/keyrings.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { type Proof, type ShownFactors, shownBy } from '../../lib/proof.ts'
import type { Membership } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { User } from '../../models/user.ts'
import { autoGrants } from '../apps/app-settings.ts'
import { assertAppActive } from '../apps/apps.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { assertAuthenticated } from '../client-secrets/client-secrets.ts'
import { closeAnswered } from '../grants/close-requests.ts'
import { findGrantState, type GrantState, grantStateOf } from '../grants/grants.ts'
import { type Overrides, provisionUser } from '../grants/provision-user.ts'
import { isTrustedAt } from '../trusted-browsers/trusted-browsers.ts'
import { BASE_ROLE } from '../users/administration.ts'
import { listMemberships } from '../users/find-users.ts'
import type { PooledUser } from '../users/present.ts'
import { lockUserRow, type NewAccount } from '../users/users.ts'
import { type Admitted, type KnownRights, type RolesAndGrant, readRolesAndGrant, resolveRights } from './rights.ts'
import { assertPolicyMet } from './second-factor-policy.ts'

/** A user who has proven who they are and asks for tokens. */
export interface SessionRequest {
  user: PooledUser
  /** Null for a login without an app, if the settings allow one. */
  app: App | null
  /** The app as it has authenticated. Undefined at the API's own calls, where no app authenticates. */
  client: ClientCaller | undefined
  organizationId?: string | undefined
  overrides: Overrides
  /** What was shown in the sign-in that this goes on with. */
  shown: ShownFactors
  /** Optional; read from the database when absent. */
  rolesAndGrant?: RolesAndGrant | undefined
  /** The one in that organization. Optional; read from the database when absent. */
  membership?: Membership | undefined
  /**
   * Set if the user accepted an invitation while signing in. The user then does not join the default organization as well.
   * `opensSignUp` is false for a member of the organization, who leaves the invitation to another user.
   */
  invitation?: { opensSignUp: boolean } | undefined
}

/** A request of a user who signs in, with the proof that opens the session. */
export interface EntryRequest extends Omit<SessionRequest, 'rolesAndGrant' | 'membership' | 'shown'> {
  proof: Proof
  /** What the use case has just read of the user. */
  known?: KnownRights
  /** The browser session that a code came from. The app session, whose id is given, ends no later than one that began with it. */
  browser?: { id: string; startedAt: number; sessionId: string; scope: string } | undefined
  /** For a user whom this transaction has created: the base role and this grant are all they have. */
  newcomer?: { made: NewAccount; isGranted: boolean }
}

/** The result of the gate: everything a token is built from. */
export interface Admission extends Admitted {
  user: PooledUser
  /** The lowest `iat` of a live token, in seconds. */
  minIat: number
  /** The keys of the app. */
  keyring: Keyring
  /** Milliseconds. No token outlives its grant. */
  grantExpiresAt: number | null
}

/**
 * The gate that every call for tokens passes: login, registration, refresh, magic link, third-party login. It checks the account,
 * the app, the pools, the address, the second factor that the app demands, the organization, the roles and the grant
 * (docs/why/flows/login.md). The caller has already checked the password or its equivalent. Provisioning that is due happens here,
 * in the caller's transaction. Throws `account_suspended`, `app_inactive`, `invalid_client`, `email_unverified`, what
 * `assertPolicyMet` throws, `organization_membership_required`, `app_access_denied`.
 */
export function admit(deps: Deps<Tx>, request: SessionRequest, actor: Actor): Promise<Admission> {
  return judge(deps, request, actor, {
    client: request.client,
    asOne: (provision) => provision(deps),
    keepUser: () => User.keep(deps.db, request.user.id),
  })
}

/**
 * The gate for a user who signs in. The proof must be of this user, and include the second factor if one is active by now. Throws
 * `two_factor_required`, and what `admit` throws.
 */
export async function admitByProof(
  deps: Deps<Tx>,
  { proof, newcomer, known, ...request }: EntryRequest,
  actor: Actor,
): Promise<Admission> {
  const { user, app } = request
  if (proof.userId !== user.id) throw new Error('another user was proven')
  if (newcomer?.made.id === user.id) {
    const grant = newcomer.isGranted ? freshGrant : grantStateOf(deps, undefined)
    // The catalog is read now: the new rows may have waited for a transaction that closed the app.
    return admit(deps, { ...request, shown: shownBy(proof), rolesAndGrant: { globalRoles: [BASE_ROLE], grant } }, actor)
  }
  const { hasSecondFactor, ...rolesAndGrant } = known ?? (await readRolesAndGrant(deps, user.id, app?.id ?? null))
  const isDead = proof.second?.isTrusted && !(hasSecondFactor && app && isTrustedAt(app, proof.second.provenAt, deps.clock()))
  const shown = shownBy(isDead ? { ...proof, second: null } : proof)
  if (hasSecondFactor && shown.second === null) throw new ApiError('two_factor_required')
  return admit(deps, { ...request, shown, rolesAndGrant }, actor)
}

const freshGrant: GrantState = { exists: true, isActive: true, isRevoked: false, expiresAt: null }

/**
 * What the gate would say, without writing: provisioning that is due counts as done. Returns also whether the user has access
 * already, or enters without a grant by right, and the minimum token version below which a proof opens nothing in the app. A
 * confidential app authenticates later, where it gets the tokens.
 */
export async function foreseeAdmission(
  deps: Deps,
  request: AskedEntry,
  actor: Actor,
): Promise<{ refusal: ErrorCode | undefined; hasEntered: boolean; appFloor: number }> {
  const { user, app } = request
  const { hasSecondFactor, appFloor, ...rolesAndGrant } = await readRolesAndGrant(deps, user.id, app?.id ?? null)
  const { globalRoles, grant } = rolesAndGrant
  const hasEntered = grant.isActive || (entersWithoutGrant(globalRoles, app) && !grant.isRevoked)
  const mode: GateMode = { client: 'later', asOne: async () => freshGrant, keepUser: async () => {} }
  try {
    await judge(deps, { ...request, rolesAndGrant }, actor, mode)
    return { refusal: undefined, hasEntered, appFloor }
  } catch (error) {
    // Where access was ended, the person reads that instead of signing in again.
    if (error instanceof ApiError && error.status < 500) return { refusal: error.code, hasEntered, appFloor: 0 }
    throw error
  }
}

/**
 * Like `admit`, for callers that have no open transaction. It opens one only if provisioning is due. The request must keep the
 * organization of the session, or have none.
 */
export function admitAlone(deps: Deps<Pool>, request: SessionRequest, actor: Actor): Promise<Admission> {
  const { client } = request
  return judge(deps, request, actor, { client, asOne: (provision) => transaction(deps, provision), keepUser: async () => {} })
}

/** Runs what has to be one transaction. */
type AsOne = (step: (deps: Deps<Tx>) => Promise<GrantState>) => Promise<GrantState>

type AskedEntry = Omit<SessionRequest, 'client'>

/** How an entry passes the gate: in a transaction that is open, in one of its own, or only foreseen. */
interface GateMode {
  client: SessionRequest['client'] | 'later'
  asOne: AsOne
  /** Makes transactions that take something from the user wait until the session exists. */
  keepUser: () => Promise<void>
}

async function judge(deps: Deps, request: AskedEntry, actor: Actor, { client, asOne, keepUser }: GateMode): Promise<Admission> {
  const { user } = request
  if (user.status !== 'active') throw new ApiError('account_suspended')
  const rolesAndGrant = request.rolesAndGrant ?? (await readRolesAndGrant(deps, user.id, request.app?.id ?? null))
  const catalog = await readCatalog(deps, rolesAndGrant.catalogGeneration)
  // Read the app again. The caller read it before a password was hashed, and an app that was closed since must not get a token.
  const app = request.app && ((await catalog.findApp({ id: request.app.id })) ?? request.app)
  if (app) assertAppActive(app)
  if (app && client !== 'later') assertAuthenticated(app, client)
  // A caller that looks for a user among the pools has checked this. A session may be older than the pools of its app or its user.
  if (!isInPools(user, poolSet(app)))
    throw new ApiError('app_access_denied', { detail: 'The user is not in any pool of this app' })
  assertVerifiedFor(app, user)
  if (app) await assertPolicyMet(deps, { user, app, globalRoles: rolesAndGrant.globalRoles, shown: request.shown })

  const grant = app ? await resolveGrant(deps, { ...request, app }, rolesAndGrant, actor, asOne) : null

  // A request that removes a membership looks for sessions in the organization. It finds this one, or has removed the membership.
  if (request.organizationId !== undefined) await keepUser()
  const membership =
    request.organizationId === undefined
      ? null
      : (request.membership ?? (await getMembership(deps, user.id, request.organizationId)))
  const { roles, permissions } = await resolveRights(deps, { app, membership, globalRoles: rolesAndGrant.globalRoles, catalog })

  if (grant && !grant.isActive) throw new ApiError('app_access_denied', { detail: 'The user has no active grant for this app' })
  const minIat = Math.max(app?.min_iat ?? 0, await catalog.getMinIat())
  const keyring = (await catalog.getKeyrings()).ofApp(() => app?.id)
  return { user, app, membership, roles, permissions, minIat, keyring, grantExpiresAt: grant?.expiresAt ?? null }
}

async function resolveGrant(
  deps: Deps,
  request: AskedEntry & { app: App },
  { globalRoles, grant }: RolesAndGrant,
  actor: Actor,
  asOne: AsOne,
): Promise<GrantState> {
  if (entersWithoutGrant(globalRoles, request.app) && !grant.isRevoked) return freshGrant
  if (grant.exists || !(await isAutoGranted(deps, request))) return grant
  return asOne(async (deps) => {
    // Of several first entries at once, even through apps that link one another, one provisions and the others find its rows.
    await lockUserRow(deps, request.user.id)
    const current = await findGrantState(deps, request.user.id, request.app.id)
    if (current.exists) return current
    const { user, app, overrides } = request
    const joinOrganization = await joinsDefaultOrganization(deps, request)
    await provisionUser(deps, { userId: user.id, email: user.email, app, overrides, joinOrganization }, actor)
    await closeAnswered(deps, { userIds: [user.id], decidedBy: null }, actor)
    return findGrantState(deps, user.id, app.id)
  })
}

/** If the app asks for a verified address, the user may have registered through it in an earlier request. */
async function isAutoGranted(deps: Deps, { user, app, invitation }: AskedEntry & { app: App }): Promise<boolean> {
  const isInvited = invitation?.opensSignUp === true
  if (autoGrants(app, { email: user.email, isInvited })) return true
  if (isInvited || !app.require_verified_email || !autoGrants(app, { email: user.email, isInvited: true })) return false
  return hasRegisteredThrough(deps, user.id, app.id)
}

async function hasRegisteredThrough(deps: Deps, userId: string, appId: string): Promise<boolean> {
  const registration = { user_id: userId, app_id: appId, event: 'user.registered' }
  return (await AuditEvent.find(deps.db, registration).select('id')) !== undefined
}

/**
 * False if the user accepted an invitation, or founded an organization at registration. If the app asks for a verified address,
 * that registration was an earlier request, and provisioning has waited for the first entry.
 */
async function joinsDefaultOrganization(deps: Deps, { user, app, invitation }: AskedEntry & { app: App }): Promise<boolean> {
  if (invitation !== undefined) return false
  if (!app.require_verified_email || app.default_organization_id === null) return true
  const isMember = (await listMemberships(deps, user.id)).length > 0
  return !isMember || !(await hasRegisteredThrough(deps, user.id, app.id))
}

async function getMembership(deps: Deps, userId: string, organizationId: string): Promise<Membership> {
  const [membership] = await listMemberships(deps, userId, organizationId)
  if (!membership) throw new ApiError('organization_membership_required')
  return membership
}

/** Throws `email_unverified` if the app asks for a verified address and the user has none. */
export function assertVerifiedFor(app: App | null, user: Pick<PooledUser, 'mailbox_proven_at'>): void {
  if (isVerifiedFor(app, user)) return
  throw new ApiError('email_unverified', {
    detail: 'Verify the address with the link from a mail together with the password, or sign in with a magic link',
  })
}
