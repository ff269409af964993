import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import type { Proof } from '../../lib/proof.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { clearFailures } from '../../resources/lockouts/lockouts.ts'
import { giveBackAttempt } from '../../resources/rate-limits/take-attempt.ts'
import type { EntryRequest } from '../../resources/sessions/admit.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import type { CountedAttempt, WayIn } from './attempt.ts'

/** A user who asks to enter, with the proof and the attempt that led to it. */
export interface Entry extends EntryRequest {
  /** Undefined for a user who was just created. */
  counted: CountedAttempt | undefined
}

/**
 * Logs a user in: passes the gate, opens a session with its first tokens, clears failures, and gives the attempt back. Throws
 * what the gate throws, and `account_locked` if the account was locked after the attempt began.
 */
export async function enter(deps: Deps<Tx>, { counted, ...request }: Entry, actor: Actor): Promise<TokenAnswer> {
  const tokens = await openSession(deps, request, actor)
  if (counted) {
    await clearFailures(deps, failuresAt(request.proof, counted.way))
    await giveBackAttempt(deps, counted.attempt)
  }
  const about = { actor, userId: request.user.id, appId: request.app?.id ?? null }
  await recordEvent(deps, { event: 'login.success', ...about, ...methodDetails(request.proof.method) })
  return tokens
}

/** The failures that bar an entry, and those that the entry clears. Wrong codes do not bar a user who was not asked for one. */
function failuresAt({ userId, second }: Proof, { lockKeys, clearedKeys }: WayIn) {
  const codes = secondFactorKey(userId)
  return { barring: second ? [...lockKeys, codes] : lockKeys, clear: [...clearedKeys, codes] }
}

/**
 * Logs in a user who has just signed up with a password. The audit has only `user.registered` for this, and no `login.success`.
 */
export function enterAsNew(deps: Deps<Tx>, entry: EntryRequest, actor: Actor): Promise<TokenAnswer> {
  return openSession(deps, entry, actor)
}

/** Audit details about the way in. There are none for a password, the usual one. */
export function methodDetails(authMethod: string): { details?: { auth_method: string } } {
  return authMethod === 'password' ? {} : { details: { auth_method: authMethod } }
}
