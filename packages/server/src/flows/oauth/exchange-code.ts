import { hash } from 'node:crypto'
import { isPostgres, type Pool, type Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, ClientCaller } from '../../lib/caller.ts'
import { addressKey } from '../../lib/client-address.ts'
import { deviceGrantType, hasScope } from '../../lib/open-id.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { factsOf } from '../../lib/proof.ts'
import { hashOpaqueToken } from '../../lib/random.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { isExactRedirectUrl } from '../../lib/redirect-url.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { AuthorizationCode, type SpentCode } from '../../models/authorization-code.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { getActiveApp } from '../../resources/apps/apps.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { endSession } from '../../resources/revocations/end-tokens.ts'
import { rolesAndGrantOf } from '../../resources/sessions/rights.ts'
import { findUserInPools, listMemberships } from '../../resources/users/find-users.ts'
import { userOf } from '../../resources/users/present.ts'
import { recordLoginFailure } from '../sign-in/attempt.ts'
import { enter } from '../sign-in/enter.ts'
import { proofOfCode } from '../sign-in/prove.ts'
import { rolesIn, signIdToken, type ToldSignIn } from './id-token.ts'

interface CodeExchange {
  code: string
  client: ClientCaller
  redirectUri: string
  /** Only a code that was asked for without a challenge has none. */
  codeVerifier: string | undefined
}

function invalidGrant(detail: string): ApiError {
  return new ApiError('invalid_grant', { detail })
}

function notSignedIn(): ApiError {
  return invalidGrant('The person is no longer signed in')
}

const isAsked: ReadonlySet<string> = new Set(['two_factor_required', 'second_factor_not_shown'])

function factorChanged(): ApiError {
  return invalidGrant('A second factor has to be shown, or has changed since')
}

interface Entered {
  spent: SpentCode
  entered: { tokens: TokenAnswer; told: ToldSignIn | undefined }
}

interface Refused {
  spent: SpentCode
  error: unknown
  /** Undefined if the exchange is not the one that the code was given for. */
  app: App | undefined
}

/**
 * Exchanges a code for the tokens of a new app session. The code is spent before anything is judged, so a wrong verifier, app or
 * redirect URL spends it too. A second use within its life ends the session that the first one opened (`punishReuse`). Throws
 * `invalid_grant`, also if the browser session has ended or a minimum token version has risen since the code was given,
 * `app_not_found`, and what the gate throws.
 */
export async function exchangeAuthorizationCode(
  deps: Deps<Pool>,
  exchange: CodeExchange,
  actor: Actor,
): Promise<TokenAnswer & { scope: string; id_token?: string }> {
  const use = { hash: hashOpaqueToken(exchange.code), sessionId: newId(deps.clock()), now: deps.clock() }
  let refused: Refused | undefined
  const outcome = await transaction(deps, async (deps): Promise<Entered | Refused | undefined> => {
    const spent = await AuthorizationCode.spend(deps.db, use)
    if (!spent) return undefined
    let app: App
    try {
      app = await matchingApp(deps, spent, exchange)
    } catch (error) {
      // The transaction commits, so the code stays spent.
      return { error, spent, app: undefined }
    }
    try {
      const opened = { app, client: exchange.client, spent, sessionId: use.sessionId }
      return { spent, entered: await enterByCode(deps, opened, actor) }
    } catch (error) {
      refused = { error, spent, app }
      throw error
    }
  }).catch(async (error) => {
    if (!refused) throw error
    // Nothing remains of the entry, not even that the code is spent. If somebody else has used it meanwhile, that was a second use.
    return (await transaction(deps, (deps) => AuthorizationCode.spend(deps.db, use))) && refused
  })
  if (!outcome) {
    await punishReuse(deps, use.hash, actor)
    throw invalidGrant('The code is unknown, was used before, or has expired')
  }
  if ('entered' in outcome) {
    const { spent, entered } = outcome
    const { tokens, told } = entered
    const answer = { ...tokens, scope: spent.scope }
    return told ? { ...answer, id_token: await signIdToken(deps, told, tokens.access_token, spent.catalog_generation) } : answer
  }
  const { error, spent, app } = outcome
  if (app && error instanceof ApiError)
    await recordLoginFailure(deps, error, { email: spent.email, user: { id: spent.user_id }, app }, actor)
  throw error
}

/** The app of a code. Throws unless the exchange is the one that the code was given for. */
async function matchingApp(deps: Deps, spent: SpentCode, { client, redirectUri, codeVerifier }: CodeExchange): Promise<App> {
  const app = await getActiveApp(deps, client.code, spent.catalog_generation)
  if (spent.app_id !== app.id) throw invalidGrant('The code is for another app')
  if (spent.redirect_uri !== redirectUri) throw invalidGrant('redirect_uri is not the one that the code was sent to')
  if (!matchesChallenge(codeVerifier, spent.code_challenge)) throw invalidGrant('code_verifier does not match')
  if (spent.redirect_uri === deviceGrantType) return app
  // An admin who removes a URL means the codes that have just been sent there, too.
  if (!isExactRedirectUrl(redirectUri, app.allowed_redirect_urls))
    throw invalidGrant('redirect_uri is no longer a redirect URL of the app')
  // Of two programs that both have the code, only the app has its secret.
  if (spent.code_challenge === null && !client.hasShownSecret) throw new ApiError('invalid_client')
  return app
}

/** What RFC 7636 takes for a verifier. A shorter one can be guessed from the challenge, which everybody sees. */
const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/

/** Whether a verifier belongs to a challenge (RFC 7636). Without a challenge there must be none. */
function matchesChallenge(verifier: string | undefined, challenge: string | null): boolean {
  if (verifier === undefined) return challenge === null
  return verifierForm.test(verifier) && hash('sha256', verifier, 'base64url') === challenge
}

async function enterByCode(
  deps: Deps<Tx>,
  { app, client, spent, sessionId }: { app: App; client: ClientCaller; spent: SpentCode; sessionId: string },
  actor: Actor,
): Promise<Entered['entered']> {
  const entrant = await User.findEntrant(deps.db, spent.user_id, app.id)
  const pools = poolSet(app)
  const named = entrant?.has_namesake ? await findUserInPools(deps, entrant.email, pools) : entrant && userOf(entrant)
  if (!entrant || named?.id !== entrant.id || !isInPools(named, pools))
    throw invalidGrant('The user is no longer the one whom the app knows by this address')
  const user = userOf(entrant)
  const { browser_session_id: browserId, browser_started_at: startedAt } = spent
  if (startedAt === null || entrant.min_token_version > spent.version) throw notSignedIn()
  const activatedAt = entrant.factor_activated_at
  if (activatedAt !== null && activatedAt !== spent.second_activated_at) throw factorChanged()
  const known = { ...rolesAndGrantOf(deps, entrant), hasSecondFactor: activatedAt !== null }
  const request = { user, app, client, organizationId: spent.organization_id ?? undefined, overrides: {}, counted: undefined }
  const browser = { id: browserId, startedAt, sessionId, scope: spent.scope }
  const proof = proofOfCode(spent)
  const tokens = await enter(deps, { ...request, proof, browser, known }, actor).catch((error) => {
    // It was activated since the user was read, or the app demands one since.
    throw error instanceof ApiError && isAsked.has(error.code) ? factorChanged() : error
  })
  // Signing out in the browser ends the sessions that came from it. It finds this one, or was first. On SQLite nothing changes
  // meanwhile.
  const read = { status: user.status, user_floor: user.min_token_version, app_floor: entrant.app_floor }
  const now = isPostgres(deps.db) ? await BrowserSession.keepOpen(deps.db, browserId, app.id) : read
  if (!now) throw notSignedIn()
  // A session that begins below a minimum token version is dead. Here the app learns it at once.
  if (now.status !== 'active' || spent.version < Math.max(now.user_floor, now.app_floor ?? 0))
    throw invalidGrant('The access of the user has ended since')
  if (!hasScope(spent.scope, 'openid')) return { tokens, told: undefined }
  const memberships = hasScope(spent.scope, 'groups') ? await listMemberships(deps, user.id) : []
  const told = {
    ...{ userId: user.id, appCode: app.code, sessionId, user, ...factsOf(proof), nonce: spent.nonce, scope: spent.scope },
    roles: rolesIn(tokens.access_token),
    organizations: memberships.map(({ slug }) => slug),
  }
  return { tokens, told }
}

/** A device that hears nothing asks again, so two of its polls may be under way when the person allows it. */
const pollsTogetherMs = 30_000

/**
 * The second of two uses may be an attacker's, and so may the first: the session that the code opened ends, if it opened one. A
 * browser carries a code once, but a device sends its own many times. Its poll that comes together with the one that got the
 * tokens, and from the same address or IPv6 network, is only refused.
 */
async function punishReuse(deps: Deps<Pool>, hash: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const reused = await AuthorizationCode.noteReuse(deps.db, hash, deps.clock())
    if (!reused) return
    const { user_id: userId, app_id: appId, session_id: sessionId, redirect_uri: redirectUri } = reused
    const session = sessionId === null ? undefined : await Session.findFull(deps.db, sessionId)
    const opened = session?.ended_at === null ? session : undefined
    const isNear = opened !== undefined && deps.clock() - opened.created_at <= pollsTogetherMs
    const isFromThere = isNear && addressKey(opened.ip ?? '') === addressKey(actor.origin.ip)
    if (redirectUri === deviceGrantType && isFromThere) return
    const details = opened ? { session_id: sessionId } : {}
    await recordEvent(deps, { event: 'code.reused', actor, userId, appId, details })
    if (opened) await endSession(deps, opened, 'session.ended', actor)
  })
}
