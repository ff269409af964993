import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { AccessTokenClaims, AccessTokens, MachineTokenClaims } from '../../lib/access-token.ts'
import type { Actor } from '../../lib/caller.ts'
import { type ShownFactors, storedShown } from '../../lib/proof.ts'
import { hashOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import { looksLikeServiceToken } from '../../lib/service-token.ts'
import { iso, isoOrNull } from '../../lib/timestamps.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { ServiceAccount } from '../../models/service-account.ts'
import { type LiveSession, Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { listMachinePermissions } from '../../resources/service-accounts/service-accounts.ts'
import { authorityOfSession, callerOf, isSessionAlive } from '../../resources/sessions/authenticate-caller.ts'
import { resolveRights } from '../../resources/sessions/rights.ts'
import { assertPolicyMet } from '../../resources/sessions/second-factor-policy.ts'
import { listGlobalRoles } from '../../resources/users/administration.ts'
import { listMemberships } from '../../resources/users/find-users.ts'
import { presentUser, userOf } from '../../resources/users/present.ts'
import type { TokenTrace } from './schema.ts'

/**
 * Tells whose a found token is, whether it is live, and what it opens. The token is not used: a refresh token stays unspent, and
 * a service account does not count as used. The audit records who asked about whom, without the token.
 */
export async function traceToken(deps: Deps, token: string, actor: Actor): Promise<TokenTrace> {
  const trace = await findTrace(deps, token)
  const { kind, state, user, session, service_account } = trace
  const details = { kind, state, session_id: session?.id ?? null, service_account_id: service_account?.id ?? null }
  const about = { userId: user?.id ?? null, appId: session?.app?.id ?? null }
  await recordEvent(deps, { event: 'token.traced', actor, ...about, details })
  return trace
}

const nothing: TokenTrace = {
  kind: 'unknown',
  state: 'unknown',
  expires_at: null,
  user: null,
  session: null,
  service_account: null,
  roles: [],
  permissions: [],
  administers: false,
}

function findTrace(deps: Deps, token: string): Promise<TokenTrace> {
  if (looksLikeServiceToken(token)) return traceServiceToken(deps, token)
  if (token.startsWith(TOKEN_PREFIXES.refresh)) return traceRefreshToken(deps, token)
  return traceAccessToken(deps, token)
}

async function traceServiceToken(deps: Deps, token: string): Promise<TokenTrace> {
  const found = await ServiceAccount.findByToken(deps.db, hashOpaqueToken(token))
  const account = found && (await ServiceAccount.full(deps.db).findById(found.id))
  if (!account) return { ...nothing, kind: 'service_account' }
  const { expires_at } = account
  return {
    ...nothing,
    kind: 'service_account',
    state: expires_at !== null && expires_at <= deps.clock() ? 'expired' : 'live',
    expires_at: isoOrNull(expires_at),
    service_account: describeAccount(account),
  }
}

function describeAccount({ id, name, service, scopes, apps, last_used_at }: ServiceAccount): TokenTrace['service_account'] {
  return { id, name, service, scopes, app_codes: apps.map(({ code }) => code), last_used_at: isoOrNull(last_used_at) }
}

type VerifiedMachineToken = ReturnType<AccessTokens['verifyMachine']>

async function traceMachineToken(deps: Deps, verified: VerifiedMachineToken, claims: MachineTokenClaims): Promise<TokenTrace> {
  const account = isUuid(claims.uid) ? await ServiceAccount.full(deps.db).findById(claims.uid) : undefined
  const state = await stateOfMachineToken(deps, verified, claims, account)
  const app = isUuid(claims.app_id) ? await App.find(deps.db, { id: claims.app_id }) : undefined
  const traced = { ...nothing, kind: 'machine' as const, state, expires_at: momentOf(claims.exp) }
  const of = { ...traced, service_account: account ? describeAccount(account) : null }
  if (state !== 'live' || !account || !app) return of
  const permissions = await listMachinePermissions(deps, account.id, app, await readCatalog(deps))
  return { ...of, roles: ['service'], permissions }
}

/** Issued machine tokens are not stored. A forged one is recognized by claims that the service could not have issued. */
async function stateOfMachineToken(
  deps: Deps,
  verified: VerifiedMachineToken,
  claims: MachineTokenClaims,
  account: ServiceAccount | undefined,
): Promise<TokenTrace['state']> {
  if ('fault' in verified) return verified.fault === 'expired' ? 'expired' : 'forged'
  if (!account) return 'ended'
  if (claims.tv > account.token_version) return 'forged'
  const app = isUuid(claims.app_id) ? await App.find(deps.db, { id: claims.app_id }) : undefined
  const isOpen = app?.status === 'active' && app.machine_tokens && account.apps.some(({ code }) => code === app.code)
  const isCut = claims.iat < Math.max(app?.min_iat ?? 0, await (await readCatalog(deps)).getMinIat())
  return isOpen && !isCut && claims.tv === account.token_version ? 'live' : 'ended'
}

async function traceRefreshToken(deps: Deps, token: string): Promise<TokenTrace> {
  const found = await RefreshToken.findPresented(deps.db, hashOpaqueToken(token))
  const live = found && (await Session.findLive(deps.db, found.session_id))
  if (!found || !live) return { ...nothing, kind: 'refresh' }
  const isExpired = Math.min(found.expires_at, live.expires_at) <= deps.clock()
  const state = found.used_at !== null ? 'spent' : isExpired ? 'expired' : isSessionAlive(deps, live) ? 'live' : 'ended'
  const of = await describeSession(deps, found.session_id, live, state === 'live')
  return { ...nothing, kind: 'refresh', state, expires_at: iso(found.expires_at), ...of }
}

async function traceAccessToken(deps: Deps, token: string): Promise<TokenTrace> {
  const keyrings = await (await readCatalog(deps)).getKeyrings()
  const machine = deps.accessTokens.readMachine(token, keyrings)
  if (machine?.iss === deps.accessTokens.issuer)
    return traceMachineToken(deps, deps.accessTokens.verifyMachine(token, deps.clock(), keyrings), machine)
  const claims = deps.accessTokens.read(token, keyrings)
  // Another service may share the secret by mistake. Its tokens are not ours.
  if (!claims || claims.iss !== deps.accessTokens.issuer) return nothing
  const live = isUuid(claims.sid) ? await Session.findLive(deps.db, claims.sid) : undefined
  const state = await stateOfAccessToken(deps, deps.accessTokens.verify(token, deps.clock(), keyrings), claims, live)
  const traced = { ...nothing, kind: 'access' as const, state, expires_at: momentOf(claims.exp) }
  // A forged token says nothing true about a session. Show only the user that it names, who may be harmed.
  if (!live || state === 'forged') return { ...traced, user: await findUser(deps, claims.uid) }
  return { ...traced, ...(await describeSession(deps, claims.sid, live, state === 'live')) }
}

async function stateOfAccessToken(
  deps: Deps,
  verified: ReturnType<AccessTokens['verify']>,
  claims: AccessTokenClaims,
  live: LiveSession | undefined,
): Promise<TokenTrace['state']> {
  if ('fault' in verified) return verified.fault === 'expired' ? 'expired' : 'forged'
  // Sessions are kept for longer than an access token lives, except those of a deleted app.
  if (!live) return (await isOfDeletedApp(deps, claims)) ? 'ended' : 'forged'
  try {
    callerOf(deps, live, claims)
    return 'live'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.code === 'token_invalid' ? 'forged' : 'ended'
  }
}

async function isOfDeletedApp(deps: Deps, { app_id }: AccessTokenClaims): Promise<boolean> {
  return isUuid(app_id ?? '') && (await App.find(deps.db, { id: app_id! })) === undefined
}

/** Null if the number is not a date: a consumer could have written any number. */
function momentOf(seconds: number): string | null {
  const ms = seconds * 1000
  return Math.abs(ms) <= 8.64e15 ? iso(ms) : null
}

async function findUser(deps: Deps, id: string): Promise<TokenTrace['user']> {
  const row = isUuid(id) ? await User.findById(deps.db, id) : undefined
  return row ? presentUser(userOf(row)) : null
}

/** The code with which the app refuses to go on with a session, since it demands a second factor. Null if it does not. */
async function policyRefusal(
  deps: Deps,
  userId: string,
  appId: string | null,
  shown: ShownFactors,
): Promise<'two_factor_required' | 'two_factor_enrollment_required' | null> {
  const app = appId === null ? undefined : await App.find(deps.db, { id: appId })
  if (!app) return null
  try {
    await assertPolicyMet(deps, { user: { id: userId }, app, globalRoles: await listGlobalRoles(deps, userId), shown })
    return null
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return error.code === 'two_factor_enrollment_required' ? error.code : 'two_factor_required'
  }
}

/** A session with its user, and what a live token of it opens now. */
async function describeSession(
  deps: Deps,
  id: string,
  live: LiveSession,
  isLive: boolean,
): Promise<Pick<TokenTrace, 'user' | 'session' | 'roles' | 'permissions' | 'administers'>> {
  const row = await Session.findFull(deps.db, id)
  if (!row) return nothing
  const { app_id, app_code, organization_id } = row
  const [organization = null] = organization_id === null ? [] : await listMemberships(deps, live.user_id, organization_id)
  const shown = storedShown({ ...row, session_created_at: row.created_at })
  const session = {
    id,
    alive: isSessionAlive(deps, live),
    app: app_id !== null && app_code !== null ? { id: app_id, code: app_code } : null,
    organization,
    auth_method: row.auth_method,
    second_factor: shown.second,
    refused_by_policy: await policyRefusal(deps, row.user_id, app_id, shown),
    ip: row.ip,
    user_agent: row.user_agent,
    created_at: iso(row.created_at),
    last_used_at: iso(row.last_used_at),
    expires_at: iso(row.expires_at),
  }
  const user = await findUser(deps, live.user_id)
  if (!isLive) return { user, session, roles: [], permissions: [], administers: false }
  const catalog = await readCatalog(deps, live.catalog_generation)
  const app = app_id === null ? null : ((await catalog.findApp({ id: app_id })) ?? null)
  const globalRoles = await listGlobalRoles(deps, live.user_id)
  const { roles, permissions } = await resolveRights(deps, { app, membership: organization, globalRoles, catalog })
  const administers = authorityOfSession(deps, live).refuseAdministration() === undefined
  return { user, session, roles, permissions: [...permissions], administers }
}
