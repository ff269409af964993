import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type ErrorCode } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import type { FactorRow } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { limitUser } from '../../resources/rate-limits/limit-user.ts'
import { proveAgain } from './prove-again.ts'

/** The error codes that routes declare if they call `requireFreshProof`. */
export const proofErrors = [
  'account_locked',
  'fresh_login_required',
  'invalid_credentials',
  'rate_limited',
] as const satisfies ErrorCode[]

/** For routes that set `asksPassword`. */
export const passwordNote =
  'Always requires the `password` of the account, if it has one, so that an access token alone is never enough. Also requires ' +
  '`two_factor_code` if a second factor is active, unless a login in the last 10 minutes passed it. Wrong credentials count as ' +
  'a failed login.'

export const proofNote =
  'Requires a login in the last 10 minutes, with the second factor if one is active. A refresh does not count as a login. ' +
  'Otherwise the body must have `password`, and `two_factor_code` if a second factor is active. Wrong credentials count as ' +
  'a failed login.'

interface Identity {
  caller: UserCaller
  /** The active second factor, which the calling function has already read. */
  factor: FactorRow | undefined
  password?: string | undefined
  code?: string | undefined
  /** Whether the password is required even right after a login. */
  asksPassword?: boolean
}

/**
 * Call this before you add or remove a way to sign in: a stolen access token must not be enough to lock the owner out. Requires
 * that the session began, or the user proved who they are, in the last few minutes. Otherwise requires the password, and a code
 * if a second factor is active. Credentials are checked whenever they are given, and a complete set is noted in the session.
 * With `asksPassword` the password is always required.
 * Throws `fresh_login_required`, and what `proveAgain` throws.
 */
export async function requireFreshProof(deps: Deps<Pool>, identity: Identity, actor: Actor): Promise<void> {
  const { caller, factor, password, code, asksPassword = false } = identity
  const now = deps.clock()
  const isComplete = password !== undefined && (factor === undefined || code !== undefined)
  if (asksPassword && password === undefined)
    throw new ApiError('fresh_login_required', { detail: 'password: is required, even right after a login' })
  const refusal = isComplete
    ? undefined
    : caller.authority.refuseCredentialChange({ now, factorSince: factor?.activated_at ?? null })
  if (refusal) throw new ApiError(refusal.code, refusal)
  if (password === undefined && code === undefined) return limitUser(deps, caller)
  await proveAgain(deps, { caller, password, code }, actor)
  if (isComplete) await Session.noteProof(deps.db, caller.sessionId, now)
}
