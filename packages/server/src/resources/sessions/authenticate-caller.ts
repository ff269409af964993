import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { authorityOfUser, type UserAuthority } from '../../lib/authority.ts'
import type { Caller, UserCaller } from '../../lib/caller.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { isUuid } from '../../lib/uuid.ts'
import { type LiveSession, Session } from '../../models/session.ts'
import { authenticateServiceAccount } from '../service-accounts/authenticate-service-account.ts'

/**
 * Who a bearer token stands for, looked up at each call: signature and times, then the session, the account, the app and the floors
 * under a token as they are now. Roles are read here and never from the token: every consumer holds the secret that signs
 * it. The token of a service account is told by its prefix. Throws `token_invalid`, `token_expired`, `token_revoked`.
 */
export async function authenticateCaller(deps: Deps, bearer: string): Promise<Caller> {
  if (looksLikeServiceToken(bearer)) return authenticateServiceAccount(deps, bearer)
  const claims = verifyToken(deps, bearer)
  return callerOf(deps, await Session.findLive(deps.db, claims.sid), claims)
}

/** Throws `token_invalid`, `token_expired`. */
export function verifyToken(deps: Deps, bearer: string): UserCaller['claims'] {
  const verified = deps.accessTokens.verify(bearer, deps.clock())
  if ('fault' in verified) throw new ApiError(verified.fault === 'expired' ? 'token_expired' : 'token_invalid')
  const { claims } = verified
  if (!isUuid(claims.sid) || !isUuid(claims.uid)) throw new ApiError('token_invalid')
  return claims
}

/** The caller with a token of this session. Throws `token_invalid`, `token_revoked`. */
export function callerOf(deps: Deps, session: LiveSession | undefined, claims: UserCaller['claims']): UserCaller {
  if (!session) throw new ApiError('token_revoked')
  const isOfSession =
    session.user_id === claims.uid &&
    session.app_id === (claims.app_id ?? null) &&
    claims.aud === (session.app_code ?? deps.config.issuer) &&
    // A consumer holds the secret and can write any claim; none that we signed says these.
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
    authority: authorityOfSession(deps, session),
    catalogGeneration: session.catalog_generation,
    claims,
  }
}

/** Whether the session goes on: whether a refresh would find it. One token of it may be dead before. */
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
  { is_system_admin, app_code, app_status, proven_at }: LiveSession,
): UserAuthority {
  const app = app_code === null ? null : { code: app_code, isActive: app_status === 'active' }
  return authorityOfUser({ isSystemAdmin: Boolean(is_system_admin), app, provenAt: proven_at }, config)
}
