import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, countFailure, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { type Attempt, giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { type AttemptTarget, recording, recordLoginFailure } from './record-login-failure.ts'

/** What the limits keep of an attempt. `enter` gives it back when the login succeeds. */
export interface CountedAttempt {
  attempt: Attempt | undefined
  lockKey: string
}

interface Steps<T extends AttemptTarget, R> {
  email: string
  /** Whose credentials they are, or a function that finds out. What the function throws is no failed attempt. */
  target: T | (() => Promise<T>)
  /** Looks at the credentials, and does what they are for. It gives the attempt back, or has `enter` do so. */
  prove(target: T, counted: CountedAttempt): Promise<R>
  /** Audits why the attempt failed. */
  recordFailure?(error: ApiError, target: T): Promise<void>
}

/** What was brought does not fit. */
const failureCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'invalid_two_factor_code'])

/**
 * One attempt to prove who somebody is, under the limit of the account and its lockout. Credentials that do not fit are counted by both;
 * whatever else goes wrong gives the attempt back. Whatever an attempt finds out is told only while the account is not locked.
 * Throws `rate_limited`, `account_locked`, and what `target` and `prove` throw.
 */
export async function withAttempt<T extends AttemptTarget, R>(deps: Deps<Pool>, steps: Steps<T, R>, actor: Actor): Promise<R> {
  const { email, prove, recordFailure = (error, target) => recordLoginFailure(deps, error, target, actor) } = steps
  const { attempt, target } = await begin(deps, { email, recordFailure, target: steps.target })
  const lockKey = lockoutKey(deps, { userId: target.user?.id, email, appId: target.app?.id })
  try {
    await assertNotLocked(deps, lockKey)
    return await prove(target, { attempt, lockKey })
  } catch (thrown) {
    const error = thrown instanceof ApiError ? await lockoutOutcome(deps, target, lockKey, thrown, actor) : thrown
    if (!isFailure(error)) await giveBackAttempt(deps, attempt)
    if (error instanceof ApiError) await recordFailure(error, target)
    throw error
  }
}

/** The limit is kept per address, whether or not anybody has it, and under a digest of it. */
function accountKey(deps: Deps, email: string): string {
  return `account:${keyedDigest(deps.config.encryptionKeys[0], 'account-limit', email)}`
}

type Beginning<T extends AttemptTarget> = Required<Pick<Steps<T, never>, 'email' | 'target' | 'recordFailure'>>

async function begin<T extends AttemptTarget>(deps: Deps<Pool>, { email, target, recordFailure }: Beginning<T>) {
  const take = () => takeAttempt(deps, accountKey(deps, email), deps.config.accountLimit)
  if (typeof target !== 'function') return { attempt: await recording((error) => recordFailure(error, target), take), target }
  const attempt = await take()
  try {
    return { attempt, target: await target() }
  } catch (error) {
    await giveBackAttempt(deps, attempt)
    throw error
  }
}

/**
 * Counts a failure, and returns the error to answer with. Guesses made at once have all passed the first look at the lock: those that
 * come in after the lock are told of the lock alone.
 */
async function lockoutOutcome(
  deps: Deps<Pool>,
  target: AttemptTarget,
  lockKey: string,
  error: ApiError,
  actor: Actor,
): Promise<ApiError> {
  const { email, user, app } = target
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
