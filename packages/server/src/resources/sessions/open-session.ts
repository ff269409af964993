import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { entersWithoutGrant } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { newDeviceToken } from '../../lib/device-token.ts'
import type { Keyring } from '../../lib/keyrings.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import type { Membership, TokenAnswer } from '../../lib/records.ts'
import { newRefreshToken } from '../../lib/refresh-token.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { assertAppActive } from '../apps/get-app.ts'
import { readCatalog } from '../catalog/read-catalog.ts'
import { findGrantState, type GrantState } from '../grants/find-grant-state.ts'
import { type Overrides, provisionUser } from '../grants/provision-user.ts'
import type { SecondFactorProof } from '../second-factors/pass-second-factor.ts'
import { lockUserRow } from '../users/get-user.ts'
import { listMemberships } from '../users/list-memberships.ts'
import type { PooledUser } from '../users/present.ts'
import { assertVerifiedFor } from './assert-verified-for.ts'
import { claimsOf } from './claims-of.ts'
import { presentTokens } from './present.ts'
import { resolveRights } from './resolve-rights.ts'
import { type RolesAndGrant, readRolesAndGrant } from './roles-and-grant.ts'

/** A user who has proven who they are and asks for tokens. */
export interface SessionRequest {
  user: PooledUser
  /** Null for a login without an app, if the settings allow one. */
  app: App | null
  organizationId?: string | undefined
  overrides: Overrides
  /** Optional; read from the database when absent. */
  rolesAndGrant?: RolesAndGrant | undefined
  /** Set if the user accepted an invitation on the way in. The user then does not join the default organization as well. */
  invitedTo?: Membership | undefined
}

/** The result of the gate: everything a token is built from. */
export interface Admission {
  user: PooledUser
  app: App | null
  membership: Membership | null
  roles: string[]
  permissions: readonly string[]
  /** The lowest `iat` of a live token, in seconds. */
  minIat: number
  /** The keys of the app. */
  keyring: Keyring
  /** Milliseconds. No token outlives its grant. */
  grantExpiresAt: number | null
}

/**
 * The gate that every door leads through: login, registration, refresh, magic link, third-party login. It checks the account, the
 * app, the pools, the address, the organization, the roles and the grant (docs/flows/login.md). The door has already checked the
 * password or its equivalent. Provisioning that is due happens here, in the door's transaction.
 * Throws `account_suspended`, `app_inactive`, `email_unverified`, `organization_membership_required`, `app_access_denied`.
 */
export function admit(deps: Deps<Tx>, request: SessionRequest, actor: Actor): Promise<Admission> {
  return judge(deps, request, actor, {
    asOne: (provision) => provision(deps),
    keepUser: () => User.keep(deps.db, request.user.id),
  })
}

/**
 * Like `admit`, for callers that have no open transaction. It opens one only if provisioning is due. The request must keep the
 * organization of the session, or have none.
 */
export function admitAlone(deps: Deps<Pool>, request: SessionRequest, actor: Actor): Promise<Admission> {
  return judge(deps, request, actor, { asOne: (provision) => transaction(deps, provision), keepUser: async () => {} })
}

/** Runs what has to be one transaction. */
type AsOne = (step: (deps: Deps<Tx>) => Promise<GrantState>) => Promise<GrantState>

interface Door {
  asOne: AsOne
  /** Makes transactions that take something from the user wait until the session exists. */
  keepUser: () => Promise<void>
}

async function judge(deps: Deps, request: SessionRequest, actor: Actor, { asOne, keepUser }: Door): Promise<Admission> {
  const { user } = request
  if (user.status !== 'active') throw new ApiError('account_suspended')
  const rolesAndGrant = request.rolesAndGrant ?? (await readRolesAndGrant(deps, user.id, request.app?.id ?? null))
  const catalog = await readCatalog(deps, rolesAndGrant.catalogGeneration)
  // Read the app again. The door read it before a password was hashed, and an app that was closed since must not get a token.
  const app = request.app && ((await catalog.findApp({ id: request.app.id })) ?? request.app)
  if (app) assertAppActive(app)
  // A door that looks for a user among the pools has checked this. A session may be older than the pools of its app or its user.
  if (!isInPools(user, poolSet(app)))
    throw new ApiError('app_access_denied', { detail: 'The user is not in any pool of this app' })
  assertVerifiedFor(app, user)

  const grant = app ? await resolveGrant({ ...request, app }, rolesAndGrant, actor, asOne) : null

  // A request that removes a membership looks for sessions in the organization. It finds this one, or has removed the membership.
  if (request.organizationId !== undefined) await keepUser()
  const membership = request.organizationId === undefined ? null : await getMembership(deps, user.id, request.organizationId)
  const { roles, permissions } = await resolveRights(deps, { app, membership, globalRoles: rolesAndGrant.globalRoles, catalog })

  if (grant && !grant.isActive) throw new ApiError('app_access_denied', { detail: 'The user has no active grant for this app' })
  const minIat = Math.max(app?.min_iat ?? 0, await catalog.getMinIat())
  const keyring = (await catalog.getKeyrings()).ofApp(() => app?.id)
  return { user, app, membership, roles, permissions, minIat, keyring, grantExpiresAt: grant?.expiresAt ?? null }
}

async function resolveGrant(
  request: SessionRequest & { app: App },
  { globalRoles, grant }: RolesAndGrant,
  actor: Actor,
  asOne: AsOne,
): Promise<GrantState> {
  if (entersWithoutGrant(globalRoles) && !grant.isRevoked)
    return { exists: true, isActive: true, isRevoked: false, expiresAt: null }
  if (grant.exists || !request.app.auto_grant_on_signup) return grant
  return asOne(async (deps) => {
    // Of several first entries at once, even through apps that link one another, one provisions and the others find its rows.
    await lockUserRow(deps, request.user.id)
    const current = await findGrantState(deps, request.user.id, request.app.id)
    if (current.exists) return current
    const { user, app, overrides } = request
    const joinOrganization = await joinsDefaultOrganization(deps, request)
    await provisionUser(deps, { userId: user.id, app, overrides, joinOrganization }, actor)
    return findGrantState(deps, user.id, app.id)
  })
}

/**
 * False if the user accepted an invitation, or founded an organization at registration. If the app asks for a verified address,
 * that registration was an earlier request, and provisioning has waited for the first entry.
 */
async function joinsDefaultOrganization(deps: Deps, { user, app, invitedTo }: SessionRequest & { app: App }): Promise<boolean> {
  if (invitedTo !== undefined) return false
  if (!app.require_verified_email || app.default_organization_id === null) return true
  const isMember = (await listMemberships(deps, user.id)).length > 0
  return !isMember || !(await AuditEvent.hasRegisteredThrough(deps.db, user.id, app.id))
}

async function getMembership(deps: Deps, userId: string, organizationId: string): Promise<Membership> {
  const [membership] = await listMemberships(deps, userId, organizationId)
  if (!membership) throw new ApiError('organization_membership_required')
  return membership
}

/** A request that begins a session. A door that forgets the second factor does not compile. */
export interface NewSessionRequest extends SessionRequest {
  authMethod: string
  secondFactor: SecondFactorProof
}

/** Opens a session for a request that the gate admits, and returns its first tokens. */
export async function openSession(deps: Deps<Tx>, request: NewSessionRequest, actor: Actor): Promise<TokenAnswer> {
  if (request.secondFactor.userId !== request.user.id) throw new Error('the second factor of another user was proven')
  const rolesAndGrant = await readRolesAndGrant(deps, request.user.id, request.app?.id ?? null)
  if (rolesAndGrant.hasSecondFactor && request.secondFactor.activatedAt === null) throw new ApiError('two_factor_required')
  const admission = await admit(deps, { ...request, rolesAndGrant }, actor)
  const now = deps.clock()
  const session = { id: newId(now), expiresAt: now + deps.config.sessionMaxSeconds * 1000 }
  const refreshToken = newRefreshToken(deps.config.encryptionKeys, session.id)
  const refreshExpiresAt = refreshExpiry(deps, session, now)
  await Session.open(deps.db, {
    sessionId: session.id,
    userId: request.user.id,
    appId: request.app?.id ?? null,
    organizationId: admission.membership?.id ?? null,
    authMethod: request.authMethod,
    // The user's version when the account was read: a floor that has risen since then ends this session.
    version: request.user.token_version,
    ip: actor.origin.ip || null,
    userAgent: actor.origin.userAgent,
    now,
    provenAt: request.secondFactor.provenAt,
    sessionExpiresAt: session.expiresAt,
    hash: hashOpaqueToken(refreshToken),
    expiresAt: refreshExpiresAt,
  })
  const deviceToken = newDeviceTokenOf(deps, admission.user, request.secondFactor.activatedAt)
  return issueTokens(deps, admission, session, { token: refreshToken, expiresAt: refreshExpiresAt, deviceToken })
}

/** Identifies a device at its next login. The token is bound to the active second factor through its activation time. */
export function newDeviceTokenOf(deps: Deps, user: PooledUser, factorActivatedAt: number | null): string {
  return newDeviceToken(deps.config.encryptionKeys, { ...user, factor_activated_at: factorActivatedAt }, deps.clock())
}

/** Stores a refresh token of a session; returns when it expires, in milliseconds. */
export async function insertRefreshToken(
  deps: Deps<Tx>,
  token: string,
  session: { id: string; expiresAt: number },
): Promise<number> {
  const now = deps.clock()
  const expiresAt = refreshExpiry(deps, session, now)
  await RefreshToken.insert(deps.db, { hash: hashOpaqueToken(token), sessionId: session.id, now, expiresAt })
  return expiresAt
}

/** When a refresh token that is issued now expires, in milliseconds. */
export function refreshExpiry(deps: Deps, session: { expiresAt: number }, now: number): number {
  return Math.min(now + deps.config.refreshTtlSeconds * 1000, session.expiresAt)
}

/** Signs an access token for an admission and builds the answer. */
export function issueTokens(
  deps: Deps,
  admission: Admission,
  session: { id: string; expiresAt: number },
  refresh: { token: string; expiresAt: number; deviceToken?: string },
): TokenAnswer {
  const now = deps.clock()
  const nowSeconds = Math.floor(now / 1000)
  // After an app was deactivated or a backup was restored, `iat` separates new tokens from older ones, so it must reach `minIat`.
  const issuedAt = Math.max(nowSeconds, admission.minIat)
  const expiresAtMs = Math.min(
    now + deps.config.accessTtlSeconds * 1000,
    session.expiresAt,
    admission.grantExpiresAt ?? Number.POSITIVE_INFINITY,
  )
  const expiresAt = Math.floor(expiresAtMs / 1000)
  return presentTokens({
    admission,
    accessToken: deps.accessTokens.sign(claimsOf(deps, admission, session.id, issuedAt, expiresAt), admission.keyring),
    expiresIn: expiresAt - nowSeconds,
    refreshToken: refresh.token,
    refreshExpiresIn: Math.max(0, Math.round((refresh.expiresAt - now) / 1000)),
    deviceToken: refresh.deviceToken,
  })
}
