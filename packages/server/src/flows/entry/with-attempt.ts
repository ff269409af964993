import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, countFailure, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { type Attempt, giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { recording, recordLoginFailure, type Tried } from './record-login-failure.ts'

/** What the limits keep of an attempt. `enter` gives it back when the login succeeds. */
export interface Counted {
  attempt: Attempt | undefined
  lockKey: string
}

interface Steps<T extends Tried, R> {
  email: string
  /** Whose credentials they are, or a function that finds out. What the function throws is no failed attempt. */
  tried: T | (() => Promise<T>)
  /** Looks at the credentials, and does what they are for. It gives the attempt back, or has `enter` do so. */
  prove(tried: T, counted: Counted): Promise<R>
  /** Audits why the attempt failed. */
  recordFailure?(error: ApiError, tried: T): Promise<void>
}

/** What was brought does not fit. */
const failureCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'invalid_two_factor_code'])

/**
 * One attempt to prove who somebody is, under the limit of the account and its lockout. Credentials that do not fit are counted by both;
 * whatever else goes wrong gives the attempt back. Whatever an attempt finds out is told only while the account is not locked.
 * Throws `rate_limited`, `account_locked`, and what `tried` and `prove` throw.
 */
export async function withAttempt<T extends Tried, R>(deps: Deps<Pool>, steps: Steps<T, R>, actor: Actor): Promise<R> {
  const { email, prove, recordFailure = (error, tried) => recordLoginFailure(deps, error, tried, actor) } = steps
  const { attempt, tried } = await begin(deps, { email, recordFailure, tried: steps.tried })
  const lockKey = lockoutKey(deps, { userId: tried.user?.id, email, appId: tried.app?.id })
  try {
    await assertNotLocked(deps, lockKey)
    return await prove(tried, { attempt, lockKey })
  } catch (thrown) {
    const error = thrown instanceof ApiError ? await lockoutOutcome(deps, tried, lockKey, thrown, actor) : thrown
    if (!isFailure(error)) await giveBackAttempt(deps, attempt)
    if (error instanceof ApiError) await recordFailure(error, tried)
    throw error
  }
}

/** The limit is kept per address, whether or not anybody has it, and under a digest of it. */
function accountKey(deps: Deps, email: string): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email)}`
}

type Beginning<T extends Tried> = Required<Pick<Steps<T, never>, 'email' | 'tried' | 'recordFailure'>>

async function begin<T extends Tried>(deps: Deps<Pool>, { email, tried, recordFailure }: Beginning<T>) {
  const take = () => takeAttempt(deps, accountKey(deps, email), deps.config.accountLimit)
  if (typeof tried !== 'function') return { attempt: await recording((error) => recordFailure(error, tried), take), tried }
  const attempt = await take()
  try {
    return { attempt, tried: await tried() }
  } catch (error) {
    await giveBackAttempt(deps, attempt)
    throw error
  }
}

/**
 * Counts a failure, and returns the error to answer with. Guesses made at once have all passed the first look at the lock: those that
 * come in after the lock are told of the lock alone.
 */
async function lockoutOutcome(deps: Deps<Pool>, tried: Tried, lockKey: string, error: ApiError, actor: Actor): Promise<ApiError> {
  const { email, user, app } = tried
  try {
    if (!failureCodes.has(error.code)) await assertNotLocked(deps, lockKey)
    else if ((await countFailure(deps, lockKey)).locks) {
      const about = { userId: user?.id ?? null, appId: app?.id ?? null }
      await recordEvent(deps, { event: 'user.locked', actor, ...about, details: { email } })
    }
    return error
  } catch (locked) {
    if (locked instanceof ApiError && locked.code === 'account_locked') return locked
    throw locked
  }
}

function isFailure(error: unknown): boolean {
  return error instanceof ApiError && (failureCodes.has(error.code) || error.code === 'account_locked')
}
