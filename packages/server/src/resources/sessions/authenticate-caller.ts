import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AccessTokenClaims } from '../../lib/access-token.ts'
import { adminRoles, authorityOfUser, type UserAuthority } from '../../lib/authority.ts'
import type { Caller, UserCaller } from '../../lib/caller.ts'
import { deepFreeze } from '../../lib/collections.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { isUuid } from '../../lib/uuid.ts'
import { wordsIn } from '../../lib/words.ts'
import { Generation } from '../../models/generation.ts'
import { type LiveSession, Session } from '../../models/session.ts'
import { readCatalog } from '../catalog/catalog.ts'
import { authenticateServiceAccount } from '../service-accounts/service-accounts.ts'

/**
 * Identifies the caller by a bearer token. Every call checks signature and times, and then the current state of the session, the
 * account, the app and the minimum token versions. Roles come from the database and never from the token, because every consumer
 * holds the secret that signs it. A prefix marks tokens of service accounts. Throws `token_invalid`, `token_expired`,
 * `token_revoked`.
 */
export async function authenticateCaller(deps: Deps, bearer: string): Promise<Caller> {
  if (looksLikeServiceToken(bearer)) return authenticateServiceAccount(deps, bearer)
  return ofPublicApp(await callerWithToken(deps, bearer, (claims) => readCaller(deps, claims)))
}

/** The caller with a token of these claims. Throws `token_invalid`, `token_revoked`. */
export async function readCaller(deps: Deps, claims: UserCaller['claims']): Promise<UserCaller> {
  return callerOf(deps, await Session.findLive(deps.db, claims.sid), claims)
}

/**
 * Refuses the token of a confidential app: it is for the backend of the app, which has no use for this API, and a product that
 * leaks it must not open the account of its user. Throws `token_invalid`.
 */
export function ofPublicApp<C extends UserCaller>(caller: C): C {
  if (caller.isOfConfidential)
    throw new ApiError('token_invalid', { detail: 'The app is confidential: its tokens open nothing here' })
  return caller
}

/**
 * Verifies a token with the keys in memory and reads its caller. If the database has another generation of keys, the token is
 * verified again with those. Throws `token_invalid`, `token_expired`, and what `read` throws.
 */
export async function callerWithToken<C extends UserCaller>(
  deps: Deps,
  bearer: string,
  read: (claims: UserCaller['claims']) => Promise<C>,
): Promise<C> {
  const { claims, generation } = await verifyToken(deps, bearer)
  const caller = await read(claims)
  if (caller.catalogGeneration !== generation) await verifyToken(deps, bearer, caller.catalogGeneration)
  return caller
}

/** The same for a token that somebody else holds: undefined unless it is a live access token of a user. */
export async function findHolder<C extends UserCaller>(
  deps: Deps,
  token: string,
  read: (claims: UserCaller['claims']) => Promise<C>,
): Promise<C | undefined> {
  try {
    return await callerWithToken(deps, token, read)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return undefined
    throw error
  }
}

/** A bearer of another form cannot be a token, so it is refused before the keys are read. */
const jwtForm = /^[^.]+\.[^.]+\.[^.]+$/

/**
 * Returns the claims of a token that a key of its app signed, and the generation of the keys that verified it. It tries the given
 * generation; without one, the generation in memory and then the current one. Throws `token_invalid`, `token_expired`.
 */
async function verifyToken(
  deps: Deps,
  bearer: string,
  given?: string,
): Promise<{ claims: UserCaller['claims']; generation: string }> {
  if (!jwtForm.test(bearer)) throw new ApiError('token_invalid')
  const generation = given ?? deps.catalogCache.latest ?? (await Generation.ofCatalog(deps.db))
  const verified = deps.accessTokens.checkClaims(await readClaims(deps, bearer, generation), deps.clock())
  if ('claims' in verified) {
    const { claims } = verified
    if (!isUuid(claims.sid) || !isUuid(claims.uid)) throw new ApiError('token_invalid')
    return { claims, generation }
  }
  if (verified.fault === 'expired') throw new ApiError('token_expired')
  const present = given ?? (await Generation.ofCatalog(deps.db))
  if (present !== generation) return verifyToken(deps, bearer, present)
  throw new ApiError('token_invalid')
}

/**
 * The claims of a token that a key of its app signed, whatever its times. A client sends its token many times, and verifying the
 * signature is much of the work of a short call, so it is verified once per generation of the keys.
 */
async function readClaims(deps: Deps, bearer: string, generation: string): Promise<AccessTokenClaims | undefined> {
  const verified = deps.verifiedTokens.at(generation)
  const known = verified.get(bearer)
  if (known) return known
  const catalog = await readCatalog(deps, generation)
  const claims = deps.accessTokens.read(bearer, await catalog.getKeyrings())
  if (claims) verified.set(bearer, deepFreeze(claims))
  return claims
}

/** The caller with a token of this session. Throws `token_invalid`, `token_revoked`. */
export function callerOf(deps: Deps, session: LiveSession | undefined, claims: UserCaller['claims']): UserCaller {
  if (!session) throw new ApiError('token_revoked')
  const isOfSession =
    session.user_id === claims.uid &&
    session.app_id === (claims.app_id ?? null) &&
    claims.aud === (session.app_code ?? deps.config.issuer) &&
    // A consumer holds the secret and can write any claim. A token that we signed never exceeds these two.
    claims.tv <= session.user_version &&
    claims.exp * 1000 <= session.expires_at
  if (!isOfSession) throw new ApiError('token_invalid')
  const accessFloor = Math.max(session.user_access_floor, session.app_access_floor ?? 0)
  const isAlive =
    isSessionAlive(deps, session) &&
    claims.tv >= Math.max(sessionFloorOf(session), accessFloor) &&
    claims.iat >= Math.max(session.service_min_iat, session.app_min_iat ?? 0)
  if (!isAlive) throw new ApiError('token_revoked')
  return {
    kind: 'user',
    userId: session.user_id,
    sessionId: claims.sid,
    appId: session.app_id,
    appCode: session.app_code,
    isOfConfidential: session.app_client === 'confidential',
    authority: authorityOfSession(deps, session),
    catalogGeneration: session.catalog_generation,
    claims,
  }
}

/** Whether a session is alive, so that it can be refreshed. One of its tokens may already be dead. */
export function isSessionAlive(deps: Deps, session: LiveSession): boolean {
  return (
    session.ended_at === null &&
    session.expires_at > deps.clock() &&
    session.status === 'active' &&
    session.session_version >= sessionFloorOf(session)
  )
}

function sessionFloorOf(session: LiveSession): number {
  return Math.max(session.user_floor, session.app_floor ?? 0)
}

/** What the user of a session may do with a token of it. */
export function authorityOfSession(
  { config }: Deps,
  { admin_roles, app_code, app_status, proven_at }: LiveSession,
): UserAuthority {
  const app = app_code === null ? null : { code: app_code, isActive: app_status === 'active' }
  const held = wordsIn(admin_roles)
  return authorityOfUser({ adminRoles: adminRoles.filter((code) => held.includes(code)), app, provenAt: proven_at }, config)
}
