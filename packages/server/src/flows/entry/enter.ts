import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { clearFailures } from '../../resources/lockouts/count-failure.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { type NewSessionRequest, openSession } from '../../resources/sessions/open-session.ts'
import type { WayIn } from './way-in.ts'
import type { CountedAttempt } from './with-attempt.ts'

/** A user, and the way in by which they proved who they are. */
export interface Proof extends NewSessionRequest {
  /** The attempt that led here. Undefined for a user who was just created. */
  counted: CountedAttempt | undefined
}

/**
 * Logs a user in: passes the gate, opens a session with its first tokens, clears failures, and gives the attempt back. Throws
 * what the gate throws, and `account_locked` if the account was locked after the attempt began.
 */
export async function enter(deps: Deps<Tx>, { counted, ...request }: Proof, actor: Actor): Promise<TokenAnswer> {
  const tokens = await openSession(deps, request, actor)
  if (counted) {
    await clearFailures(deps, failuresAt(request, counted.way))
    await giveBackAttempt(deps, counted.attempt)
  }
  const about = { actor, userId: request.user.id, appId: request.app?.id ?? null }
  await recordEvent(deps, { event: 'login.success', ...about, ...methodDetails(request.authMethod) })
  return tokens
}

/** The failures that bar an entry, and those that the entry clears. Wrong codes do not bar a user who was not asked for one. */
function failuresAt({ user, secondFactor }: NewSessionRequest, { lockKeys, clearedKeys }: WayIn) {
  const codes = secondFactorKey(user.id)
  return { barring: secondFactor.activatedAt !== null ? [...lockKeys, codes] : lockKeys, clear: [...clearedKeys, codes] }
}

/**
 * Logs in a user who has just signed up with a password. The audit has only `user.registered` for this, and no `login.success`.
 */
export function enterAsNew(deps: Deps<Tx>, proof: Proof, actor: Actor): Promise<TokenAnswer> {
  return openSession(deps, proof, actor)
}

/** Audit details about the way in. There are none for a password, the usual one. */
export function methodDetails(authMethod: string): { details?: { auth_method: string } } {
  return authMethod === 'password' ? {} : { details: { auth_method: authMethod } }
}
