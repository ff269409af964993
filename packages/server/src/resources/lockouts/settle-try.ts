import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { type Attempt, giveBackAttempt } from '../rate-limits/take-attempt.ts'
import { assertNotLocked, countFailure } from './count-failure.ts'

/** A try at somebody's credentials, as far as it came. */
export interface CredentialsTry {
  attempt: Attempt | undefined
  /** Set once it was seen that the account is not locked. */
  lockKey?: string
  email: string
  user?: { id: string } | undefined
  app?: { id: string } | null | undefined
}

/** What was brought does not fit. */
const failureCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'invalid_two_factor_code'])

/**
 * Does with the limits what a try that ended in `error` asks for, and returns the error to answer with. Credentials that do not fit
 * are counted by the lockout and stay counted by the rate limit; anything else gives the attempt back (decisions 5). Whatever a try
 * found out is told only while the account is not locked: guesses at once have all passed the first look, and those that come in
 * after the lock are told of the lock alone.
 */
export async function settleTry(deps: Deps<Pool>, tried: CredentialsTry, error: unknown, actor: Actor): Promise<unknown> {
  const code = error instanceof ApiError ? error.code : undefined
  const outcome = code !== undefined && tried.lockKey !== undefined ? await settleLockout(deps, tried, error, actor) : error
  const isFailure = outcome instanceof ApiError && (failureCodes.has(outcome.code) || outcome.code === 'account_locked')
  if (!isFailure) await giveBackAttempt(deps, tried.attempt)
  return outcome
}

async function settleLockout(deps: Deps<Pool>, tried: CredentialsTry, error: unknown, actor: Actor): Promise<unknown> {
  const { lockKey, email, user, app } = tried
  try {
    if (!failureCodes.has((error as ApiError).code)) await assertNotLocked(deps, lockKey!)
    else if ((await countFailure(deps, lockKey!)).locks) {
      const about = { userId: user?.id ?? null, appId: app?.id ?? null }
      await recordEvent(deps, { event: 'user.locked', actor, ...about, details: { email } })
    }
    return error
  } catch (locked) {
    if (locked instanceof ApiError && locked.code === 'account_locked') return locked
    throw locked
  }
}
