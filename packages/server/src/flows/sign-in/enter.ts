import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import type { ShownFactors } from '../../lib/proof.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import type { App } from '../../models/app.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { type EntryRequest, foreseeAdmission } from '../../resources/sessions/admit.ts'
import { openSession } from '../../resources/sessions/open-session.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { type CountedAttempt, closeAttempt } from './attempt.ts'

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
  if (counted) await closeAttempt(deps, request.proof, counted)
  const about = { actor, userId: request.user.id, appId: request.app?.id ?? null }
  await recordEvent(deps, { event: 'login.success', ...about, ...methodDetails(request.proof.method) })
  return tokens
}

/**
 * Logs in a user who has just signed up with a password. The audit has only `user.registered` for this, and no `login.success`.
 */
export function enterAsNew(deps: Deps<Tx>, entry: EntryRequest, actor: Actor): Promise<TokenAnswer> {
  return openSession(deps, entry, actor)
}

/**
 * Lets a newcomer in, or returns the refusal of an app that demands a second factor: the account is made all the same, and its user
 * sets one up. The gate has written nothing by then.
 */
export async function orEnrolment(entering: Promise<TokenAnswer>): Promise<{ tokens: TokenAnswer } | { refusal: ApiError }> {
  try {
    return { tokens: await entering }
  } catch (error) {
    if (error instanceof ApiError && error.code === 'two_factor_enrollment_required') return { refusal: error }
    throw error
  }
}

/** What the gate would say to a person who is signed in in a browser. Writes nothing. */
export function foreseeEntry(
  deps: Deps,
  request: { user: PooledUser; app: App; organizationId: string | undefined; shown: ShownFactors },
  actor: Actor,
): Promise<{ refusal: ErrorCode | undefined; hasEntered: boolean; appFloor: number }> {
  return foreseeAdmission(deps, { ...request, overrides: {} }, actor)
}

/** Audit details about the sign-in method. There are none for a password, the usual one. */
export function methodDetails(authMethod: string): { details?: { auth_method: string } } {
  return authMethod === 'password' ? {} : { details: { auth_method: authMethod } }
}
