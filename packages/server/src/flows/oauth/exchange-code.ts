import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { newId } from '../../lib/uuid.ts'
import type { App } from '../../models/app.ts'
import { AuthorizationCode, type SpentCode } from '../../models/authorization-code.ts'
import { Session } from '../../models/session.ts'
import { getActiveApp } from '../../resources/apps/get-app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { endSession } from '../../resources/revocations/end-tokens.ts'
import { isSessionAlive } from '../../resources/sessions/authenticate-caller.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { recordingLoginFailure } from '../sign-in/attempt.ts'
import { enter } from '../sign-in/enter.ts'
import { proofOfCode } from '../sign-in/proof.ts'
import { matchesChallenge } from './authorize.ts'

export interface CodeExchange {
  code: string
  clientId: string
  redirectUri: string
  codeVerifier: string
}

function invalidGrant(detail: string): ApiError {
  return new ApiError('invalid_grant', { detail })
}

function factorChanged(): ApiError {
  return invalidGrant('The second factor has changed since')
}

/**
 * Exchanges a code for the tokens of a new app session. The code is spent before anything is judged, so a wrong verifier, app or
 * redirect URL spends it too. A second use within its life ends the session that the first one opened. Throws `invalid_grant`, also
 * if the browser session has ended or a floor has risen since the code was given, `app_not_found`, and what the gate throws.
 */
export async function exchangeCode(
  deps: Deps<Pool>,
  exchange: CodeExchange,
  actor: Actor,
): Promise<TokenAnswer & { scope: string }> {
  const hash = hashOpaqueToken(exchange.code)
  const spent = await AuthorizationCode.spend(deps.db, hash, deps.clock())
  if (!spent) {
    await punishReuse(deps, hash, actor)
    throw invalidGrant('The code is unknown, was used before, or has expired')
  }
  const app = await getActiveApp(deps, exchange.clientId, spent.catalog_generation)
  if (spent.app_id !== app.id) throw invalidGrant('The code is for another app')
  if (spent.redirect_uri !== exchange.redirectUri) throw invalidGrant('redirect_uri is not the one that the code was sent to')
  if (spent.code_challenge === null || !matchesChallenge(exchange.codeVerifier, spent.code_challenge))
    throw invalidGrant('code_verifier does not match')
  const target = { email: spent.email, user: { id: spent.user_id }, app }
  return recordingLoginFailure(deps, target, actor, async () => ({
    ...(await enterByCode(deps, spent, app, actor)),
    scope: spent.scope,
  }))
}

async function enterByCode(deps: Deps<Pool>, spent: SpentCode, app: App, actor: Actor): Promise<TokenAnswer> {
  return transaction(deps, async (deps) => {
    const user = await findUserInPools(deps, spent.email, poolSet(app))
    if (user?.id !== spent.user_id) throw invalidGrant('The user is no longer the one whom the app knows by this address')
    const { browser_session_id: browserId, browser_started_at: startedAt } = spent
    if (startedAt === null || user.min_token_version > spent.version) throw invalidGrant('The person is no longer signed in')
    const activatedAt = user.factor?.activated_at ?? null
    if (activatedAt !== null && activatedAt !== spent.second_activated_at) throw factorChanged()
    const request = { user, app, organizationId: spent.organization_id ?? undefined, overrides: {}, counted: undefined }
    const sessionId = newId(deps.clock())
    const browser = { id: browserId, startedAt, sessionId }
    const tokens = await enter(deps, { ...request, proof: proofOfCode(spent), browser }, actor).catch((error) => {
      // It was activated since the user was read.
      throw error instanceof ApiError && error.code === 'two_factor_required' ? factorChanged() : error
    })
    if (!(await AuthorizationCode.noteSession(deps.db, spent.hash, sessionId))) throw invalidGrant('The code was used again')
    // Signing out in the browser ends the sessions that came from it. It finds this one, or was first.
    const session = await Session.findLiveFromBrowser(deps.db, sessionId)
    if (!session) throw invalidGrant('The person is no longer signed in')
    // A session that begins below a floor is dead. Here the app learns it at once.
    if (!isSessionAlive(deps, session)) throw invalidGrant('The access of the user has ended since')
    return tokens
  })
}

/** The second of two uses may be an attacker's, and so may the first: what the code opened ends. */
async function punishReuse(deps: Deps<Pool>, hash: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const reused = await AuthorizationCode.noteReuse(deps.db, hash, deps.clock())
    if (!reused) return
    const { user_id: userId, app_id: appId, session_id: sessionId } = reused
    await recordEvent(deps, {
      event: 'code.reused',
      actor,
      userId,
      appId,
      details: sessionId === null ? {} : { session_id: sessionId },
    })
    const opened = sessionId === null ? undefined : await Session.findOwner(deps.db, sessionId)
    if (opened) await endSession(deps, opened, 'session.ended', actor)
  })
}
