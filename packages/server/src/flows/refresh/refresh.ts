import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type Actor, type ClientCaller, hasAuthenticated } from '../../lib/caller.ts'
import { id, optionalField, text } from '../../lib/fields.ts'
import { type SignInFacts, storedFacts, storedShown } from '../../lib/proof.ts'
import { hashOpaqueToken, randomText } from '../../lib/random.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { newRefreshToken, sessionOfRefreshToken } from '../../lib/refresh-token.ts'
import { isTooSoon } from '../../lib/timestamps.ts'
import { type PresentedToken, RefreshToken } from '../../models/refresh-token.ts'
import { Session } from '../../models/session.ts'
import { readCatalog } from '../../resources/catalog/catalog.ts'
import { endSession } from '../../resources/revocations/end-tokens.ts'
import { type Admission, admit, admitAlone, type SessionRequest } from '../../resources/sessions/admit.ts'
import { isSessionAlive } from '../../resources/sessions/authenticate-caller.ts'
import { issueTokens, refreshExpiry } from '../../resources/sessions/open-session.ts'
import { membershipOf, rolesAndGrantOf } from '../../resources/sessions/rights.ts'
import { userOf } from '../../resources/users/present.ts'

/** A token that is not ours is answered as unknown, not as malformed. */
const refreshToken = text.min(1)

export const refreshBody = z.object({ refresh_token: refreshToken, organization_id: optionalField(id) }).meta({ id: 'Refresh' })
type RefreshInput = z.output<typeof refreshBody>

export const logoutBody = z.object({ refresh_token: refreshToken }).meta({ id: 'Logout' })

/** At the token endpoint, the app has authenticated if it is confidential. */
type RefreshCall = RefreshInput & { client?: ClientCaller }

type Outcome = { answer: TokenAnswer } | { reusedSession: string }

/**
 * Exchanges a refresh token for new tokens and rotates it. Account, app, grant, membership and roles are read again. A client
 * that lost the answer may send the same token again within the leeway, and gets the same successor. Any other second use ends
 * the session. A failed call spends nothing. With a `client`, the session must be of that app; a session of a
 * confidential app needs one that has shown its secret. Throws `invalid_refresh_token`, `refresh_token_reused` and what the gate
 * throws.
 */
export async function refresh(deps: Deps<Pool>, input: RefreshCall, actor: Actor): Promise<TokenAnswer> {
  const outcome = await exchange(deps, input, actor)
  if ('answer' in outcome) return outcome.answer
  const session = await Session.find(deps.db, { id: outcome.reusedSession, ended_at: null })
  if (session) await endSession(deps, session, 'token.reuse_detected', actor)
  throw new ApiError('refresh_token_reused')
}

async function exchange(deps: Deps<Pool>, input: RefreshCall, actor: Actor): Promise<Outcome> {
  const presented = await RefreshToken.findPresented(deps.db, hashOpaqueToken(input.refresh_token))
  if (!presented) return { reusedSession: await getSessionOfForgotten(deps, input) }
  assertAlive(deps, presented)
  await assertMayPresent(deps, presented, input.client)
  return (presented.used_at === null ? rotate : replay)(deps, input, presented, actor)
}

async function assertMayPresent(
  deps: Deps,
  { app_id: id, catalog_generation }: Pick<PresentedToken, 'app_id' | 'catalog_generation'>,
  client: ClientCaller | undefined,
): Promise<void> {
  const app = id === null ? undefined : await (await readCatalog(deps, catalog_generation)).findApp({ id })
  if (client && app?.code !== client.code) throw new ApiError('invalid_refresh_token')
  // The gate refuses it too. Here it is refused before a spent token ends the session, which is for the app alone to cause.
  if (app && !hasAuthenticated(app, client))
    throw new ApiError('invalid_refresh_token', {
      detail: 'A confidential app refreshes at /oauth/token, with its client secret',
    })
}

/**
 * The session of a token that is no longer stored. A session keeps only its last tokens, but every token names its session. An
 * older one was spent, so an attacker may have it. Throws `invalid_refresh_token` for a token that was not made here, or whose
 * session is over.
 */
async function getSessionOfForgotten(deps: Deps, { refresh_token, client }: RefreshCall): Promise<string> {
  const sessionId = sessionOfRefreshToken(deps.config.encryptionKeys, refresh_token)
  const session = sessionId === undefined ? undefined : await Session.findLive(deps.db, sessionId)
  if (sessionId === undefined || !session || !isSessionAlive(deps, session)) throw new ApiError('invalid_refresh_token')
  await assertMayPresent(deps, session, client)
  return sessionId
}

function assertAlive(deps: Deps, presented: PresentedToken): void {
  const now = deps.clock()
  const isAlive =
    presented.ended_at === null &&
    !isTooSoon(presented.session_expires_at, now) &&
    // A spent token is recognized even after it has expired: if it comes back, an attacker may have it.
    (presented.expires_at > now || presented.used_at !== null) &&
    presented.session_version >= Math.max(presented.min_token_version, presented.app_floor ?? 0)
  if (!isAlive) throw new ApiError('invalid_refresh_token')
}

async function rotate(deps: Deps<Pool>, input: RefreshCall, presented: PresentedToken, actor: Actor): Promise<Outcome> {
  const answer = await reenter(deps, input, presented, actor, (deps, admission) => spend(deps, input, presented, admission))
  // Another request spent the token between the read and the rotation. Start over with what that request left.
  return answer ? { answer } : exchange(deps, input, actor)
}

/** Returns undefined if the token was already spent. */
async function spend(
  deps: Deps,
  input: RefreshInput,
  presented: PresentedToken,
  admission: Admission,
): Promise<TokenAnswer | undefined> {
  const now = deps.clock()
  const session = sessionOf(presented)
  const salt = randomText(32)
  const successor = successorOf(deps, input.refresh_token, salt, session.id)
  const expiresAt = refreshExpiry(deps, session, now)
  const isSpent = await RefreshToken.rotate(deps.db, {
    now,
    hash: hashOpaqueToken(input.refresh_token),
    successorHash: hashOpaqueToken(successor),
    successorSalt: salt,
    expiresAt,
    sessionId: session.id,
    organizationId: admission.membership?.id ?? null,
  })
  return isSpent ? issueTokens(deps, admission, session, { token: successor, expiresAt }) : undefined
}

/** Handles a token that was already spent. Within the leeway, while its successor is unused, it gives that successor again. */
async function replay(deps: Deps<Pool>, input: RefreshCall, presented: PresentedToken, actor: Actor): Promise<Outcome> {
  const { used_at: usedAt, successor_hash: successorHash, successor_salt: salt } = presented
  // A password change replaced this token, and its holder may be the reason for that change.
  if (successorHash === null) throw new ApiError('invalid_refresh_token')
  const withinLeeway = usedAt !== null && deps.clock() - usedAt <= deps.config.refreshLeewaySeconds * 1000
  const successor = withinLeeway ? await RefreshToken.findUnused(deps.db, successorHash) : undefined
  if (!successor || salt === null) return { reusedSession: presented.session_id }
  const session = sessionOf(presented)
  const token = successorOf(deps, input.refresh_token, salt, session.id)
  const answer = await reenter(deps, input, presented, actor, async (deps, admission) =>
    issueTokens(deps, admission, session, { token, expiresAt: successor.expires_at }),
  )
  return { answer }
}

function sessionOf(presented: PresentedToken): SignInFacts & { id: string; expiresAt: number } {
  return { id: presented.session_id, expiresAt: presented.session_expires_at, ...storedFacts(presented) }
}

/**
 * Passes the gate again with everything freshly read. The session keeps its organization unless the request names another. A
 * switch runs in a transaction; otherwise a request that removes the membership could miss this session.
 */
async function reenter<T>(
  deps: Deps<Pool>,
  input: RefreshCall,
  presented: PresentedToken,
  actor: Actor,
  go: (deps: Deps, admission: Admission) => Promise<T>,
): Promise<T> {
  const request = await requestOf(deps, input, presented)
  if (request.organizationId === (presented.session_organization_id ?? undefined))
    return go(deps, await admitAlone(deps, request, actor))
  return transaction(deps, async (deps) => {
    const admission = await admit(deps, request, actor)
    await Session.query(deps.db)
      .findById(presented.session_id)
      .patch({ organization_id: admission.membership?.id ?? null })
    return go(deps, admission)
  })
}

async function requestOf(deps: Deps, input: RefreshCall, presented: PresentedToken): Promise<SessionRequest> {
  if (presented.status === 'deleted') throw new ApiError('invalid_refresh_token')
  const rolesAndGrant = rolesAndGrantOf(deps, presented)
  const catalog = await readCatalog(deps, rolesAndGrant.catalogGeneration)
  const app = presented.app_id === null ? null : ((await catalog.findApp({ id: presented.app_id })) ?? null)
  const organizationId = input.organization_id ?? presented.session_organization_id ?? undefined
  const membership = organizationId === presented.session_organization_id ? membershipOf(presented) : undefined
  const shown = storedShown(presented)
  const { client } = input
  return { user: userOf(presented), app, client, organizationId, overrides: {}, shown, rolesAndGrant, membership }
}

/**
 * The successor that a token gets with this salt. Only a client that holds the token can get it again, from the stored salt. A
 * stolen token does not give it without the database; neither does a stolen database, with every key of the server, without the
 * token.
 */
function successorOf({ config }: Deps, token: string, salt: string, sessionId: string): string {
  return newRefreshToken(config.encryptionKeys, sessionId, hash('sha256', `gatehouse-successor:${salt}:${token}`, 'base64url'))
}

/** Ends the session of a refresh token. Never fails: with an unknown or dead token there is nothing to end. */
export async function logout(deps: Deps<Pool>, refreshToken: string, actor: Actor): Promise<void> {
  const session = await RefreshToken.findSession(deps.db, hashOpaqueToken(refreshToken))
  if (session) await endSession(deps, session, 'logout', actor)
}
