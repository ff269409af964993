import { createHash } from 'node:crypto'
import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken, newOpaqueToken } from '../../lib/opaque-token.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { SecretBox } from '../../lib/secret-box.ts'
import { catalogGeneration, readCatalog } from '../../resources/catalog/read-catalog.ts'
import { endSession } from '../../resources/revocations/end-sessions.ts'
import { admit, insertRefreshToken, issueTokens, REFRESH_TOKEN_PREFIX } from '../../resources/sessions/open-session.ts'
import { getUser } from '../../resources/users/get-user.ts'
import type { RefreshInput } from './schema.ts'

interface PresentedToken {
  session_id: string
  user_id: string
  app_id: string | null
  organization_id: string | null
  session_version: number
  session_expires_at: number
  ended_at: number | null
  expires_at: number
  used_at: number | null
  successor_hash: string | null
  successor_box: string | null
  user_version: number
  user_floor: number
  catalog_generation: string
  app_floor: number | null
}

type Outcome = { answer: TokenAnswer } | { reusedSession: string }

/**
 * Exchanges a refresh token for new tokens and rotates it (contract 5.5, decisions 6). Account, app, grant, membership and roles are
 * read anew. A client that lost the answer may come back with the same token within the leeway and gets the same successor; any
 * other second use ends the session. A failed try consumes nothing.
 * Throws `invalid_refresh_token`, `refresh_token_reused` and what the gate throws.
 */
export async function refresh(deps: Deps, input: RefreshInput, actor: Actor): Promise<TokenAnswer> {
  const outcome = await transaction(deps, async (deps): Promise<Outcome> => {
    const presented = await getPresented(deps, input.refresh_token)
    if (presented.used_at !== null) return replay(deps, input, presented, actor)
    return rotate(deps, input, presented, actor)
  })
  if ('answer' in outcome) return outcome.answer
  // In a transaction of its own: the error that the caller gets may not take the end of the session back with it.
  await transaction(deps, (deps) => endSession(deps, { sessionId: outcome.reusedSession, event: 'token.reuse_detected' }, actor))
  throw new ApiError('refresh_token_reused')
}

async function getPresented(deps: Deps, token: string): Promise<PresentedToken> {
  const presented: PresentedToken | undefined = await deps
    .db('refresh_tokens as t')
    .join('sessions as s', 's.id', 't.session_id')
    .join('users as u', 'u.id', 's.user_id')
    .leftJoin('user_apps as g', (on) => on.on('g.user_id', 's.user_id').andOn('g.app_id', 's.app_id'))
    .where('t.token_hash', hashOpaqueToken(token))
    .first(
      't.session_id',
      's.user_id',
      's.app_id',
      's.organization_id',
      's.token_version as session_version',
      's.expires_at as session_expires_at',
      's.ended_at',
      't.expires_at',
      't.used_at',
      't.successor_hash',
      't.successor_box',
      'u.token_version as user_version',
      'u.min_token_version as user_floor',
      'g.min_token_version as app_floor',
      catalogGeneration(deps.db),
    )
  const now = deps.clock()
  const isAlive =
    presented !== undefined &&
    presented.ended_at === null &&
    presented.session_expires_at > now &&
    // One that was spent is recognized also after its own life: its coming back means that somebody else has it.
    (presented.expires_at > now || presented.used_at !== null) &&
    presented.session_version >= Math.max(presented.user_floor, presented.app_floor ?? 0)
  if (!isAlive) throw new ApiError('invalid_refresh_token')
  return presented
}

async function rotate(deps: Deps, input: RefreshInput, presented: PresentedToken, actor: Actor): Promise<Outcome> {
  const admission = await readmit(deps, input, presented, actor)
  const now = deps.clock()
  const successor = newOpaqueToken(REFRESH_TOKEN_PREFIX)
  const spent = await deps
    .db('refresh_tokens')
    .where({ token_hash: hashOpaqueToken(input.refresh_token) })
    .whereNull('used_at')
    .update({
      used_at: now,
      successor_hash: hashOpaqueToken(successor),
      successor_box: successorBox(input.refresh_token).seal(successor, presented.session_id),
    })
  // Somebody else spent it between the look and the update; what they left says what we are.
  if (spent === 0) return replay(deps, input, await getPresented(deps, input.refresh_token), actor)

  const session = { id: presented.session_id, expiresAt: presented.session_expires_at }
  const expiresAt = await insertRefreshToken(deps, successor, session)
  await deps
    .db('sessions')
    .where({ id: session.id })
    .update({ last_used_at: now, organization_id: admission.membership?.id ?? null })
  return { answer: issueTokens(deps, admission, session, { token: successor, expiresAt }) }
}

/** A token that was spent before: within the leeway, while its successor is unused, it gives that same successor again. */
async function replay(deps: Deps, input: RefreshInput, presented: PresentedToken, actor: Actor): Promise<Outcome> {
  const withinLeeway = deps.clock() - presented.used_at! <= deps.config.refreshLeewaySeconds * 1000
  const successor = withinLeeway ? await findUnusedSuccessor(deps, presented) : undefined
  if (!successor) return { reusedSession: presented.session_id }
  const admission = await readmit(deps, input, presented, actor)
  const token = successorBox(input.refresh_token).open(presented.successor_box!, presented.session_id)
  const session = { id: presented.session_id, expiresAt: presented.session_expires_at }
  return { answer: issueTokens(deps, admission, session, { token, expiresAt: successor.expires_at }) }
}

async function findUnusedSuccessor(deps: Deps, presented: PresentedToken): Promise<{ expires_at: number } | undefined> {
  return deps.db('refresh_tokens').where({ token_hash: presented.successor_hash }).whereNull('used_at').first('expires_at')
}

/** Through the gate again, with everything read anew; the organization stays the session's unless another is asked for. */
async function readmit(deps: Deps, input: RefreshInput, presented: PresentedToken, actor: Actor) {
  // The version that was read together with the session: one that rose since must not make its way into a token.
  const user = { ...(await getUser(deps, presented.user_id)), token_version: presented.user_version }
  if (user.status === 'deleted') throw new ApiError('invalid_refresh_token')
  const catalog = await readCatalog(deps, presented.catalog_generation)
  const app = presented.app_id === null ? null : ((await catalog.findApp({ id: presented.app_id })) ?? null)
  const organizationId = input.organization_id ?? presented.organization_id ?? undefined
  return admit(deps, { user, app, organizationId, overrides: {}, catalog }, actor)
}

/**
 * Sealed under the token that it succeeds: only the client who holds that one can have the successor out again, and a stolen
 * database with every key of the server gives nothing.
 */
function successorBox(token: string): SecretBox {
  return new SecretBox([createHash('sha256').update(`gatehouse-successor:${token}`).digest()])
}
