import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import type { FactorRow } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { limitUser } from '../../resources/rate-limits/limit-user.ts'
import { proveAgain } from './prove-again.ts'

/** What routes that call `proveIdentity` declare. */
export const proofErrors = [
  'account_locked',
  'fresh_login_required',
  'invalid_credentials',
  'rate_limited',
] as const satisfies ErrorCode[]

export const proofNote =
  'Needs a login, with the second factor where one is active, in the last 10 minutes; a refresh is none. Else the body carries ' +
  '`password`, and `two_factor_code` where one is active. Wrong ones count as a failed login.'

interface Identity {
  caller: UserCaller
  /** The second factor that is active, as the caller of this has read it. */
  factor: FactorRow | undefined
  password?: string | undefined
  code?: string | undefined
}

/**
 * For whatever adds or removes a way to sign in: a stolen access token alone must not lock its owner out. Asks that the session began,
 * or its user proved who they are, a few minutes ago; else for the password, and a code where a second factor is active. Those are
 * checked whenever they are given, and complete ones are noted in the session.
 * Throws `fresh_login_required`, and what `proveAgain` throws.
 */
export async function proveIdentity(deps: Deps<Pool>, identity: Identity, actor: Actor): Promise<void> {
  const { caller, factor, password, code } = identity
  const now = deps.clock()
  const isComplete = password !== undefined && (factor === undefined || code !== undefined)
  const refusal = isComplete
    ? undefined
    : caller.authority.refuseCredentialChange({ now, factorSince: factor?.activated_at ?? null })
  if (refusal) throw new ApiError(refusal.code, refusal)
  if (password === undefined && code === undefined) return limitUser(deps, caller)
  await proveAgain(deps, { caller, password, code }, actor)
  if (isComplete) await Session.noteProof(deps.db, caller.sessionId, now)
}
