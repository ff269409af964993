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

/** Who somebody is, and the way in by which they have proven it. */
export interface Proof extends NewSessionRequest {
  /** The attempt that led here; undefined for a user who is made on the way in. */
  counted: CountedAttempt | undefined
}

/**
 * Lets somebody in: the gate, a session with its first tokens, and the end of the attempt. Throws what the gate throws, and
 * `account_locked` when the account was locked since the attempt began.
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

/** The failures that bar an entry, and those that it clears. Wrong codes bar nobody who was not asked for one. */
function failuresAt({ user, secondFactor }: NewSessionRequest, { lockKeys, clearedKeys }: WayIn) {
  const codes = secondFactorKey(user.id)
  return { barring: secondFactor.activatedAt !== null ? [...lockKeys, codes] : lockKeys, clear: [...clearedKeys, codes] }
}

/** Lets somebody in who has just signed up with a password, which the audit tells by `user.registered` alone. */
export function enterAsNew(deps: Deps<Tx>, proof: Proof, actor: Actor): Promise<TokenAnswer> {
  return openSession(deps, proof, actor)
}

/** What audit events tell of the way in: nothing of the usual one. */
export function methodDetails(authMethod: string): { details?: { auth_method: string } } {
  return authMethod === 'password' ? {} : { details: { auth_method: authMethod } }
}
