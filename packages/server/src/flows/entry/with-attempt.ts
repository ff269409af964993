import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, countFailure } from '../../resources/lockouts/count-failure.ts'
import { type Attempt, giveBackAttempt, takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { type AttemptTarget, countLoginRefusal, type NamedTarget, recording, recordLoginFailure } from './record-login-failure.ts'
import type { WayIn } from './way-in.ts'

/** An attempt that was counted, and its way in. `enter` gives the attempt back if the login succeeds. */
export interface CountedAttempt {
  attempt: Attempt | undefined
  way: WayIn
}

interface Steps<T extends AttemptTarget, R> {
  /** Whose credentials are tried, or a function that finds out. An error of that function is not a failed attempt. */
  target: T | (() => Promise<T>)
  /** What the function searches by. It goes into the audit. */
  named?: NamedTarget
  /** Returns the way in. `target` is undefined if looking it up failed. */
  way(target: T | undefined): WayIn
  /** Checks the credentials and does what they are for. It must give the attempt back, or let `enter` do so. */
  prove(target: T, counted: CountedAttempt): Promise<R>
  /** Audits why the attempt failed, if it is not a login. */
  recordFailure?(error: ApiError, target: T): Promise<void>
}

/**
 * Runs one attempt to prove who a user is, under the limit of its way in and the lockout. Both count credentials that do not fit;
 * any other error gives the attempt back. The result of an attempt is disclosed only while its way in is not locked. Throws
 * `rate_limited`, `account_locked`, and what `target` and `prove` throw.
 */
export async function withAttempt<T extends AttemptTarget, R>(deps: Deps<Pool>, steps: Steps<T, R>, actor: Actor): Promise<R> {
  const { prove, recordFailure = (error, target) => recordLoginFailure(deps, error, target, actor) } = steps
  // Audits refusals before any hash.
  const recordRefusal = async (error: ApiError, target: T | undefined) => {
    if (steps.recordFailure && target) await steps.recordFailure(error, target)
    else await countLoginRefusal(deps, error, { email: '', ...steps.named, ...target }, actor)
  }
  const { attempt, target, way } = await begin(deps, { ...steps, recordRefusal })
  let record: (error: ApiError, target: T) => Promise<void> = recordRefusal
  try {
    await assertNotLocked(deps, way.lockKeys)
    record = recordFailure
    return await prove(target, { attempt, way })
  } catch (thrown) {
    const error = thrown instanceof ApiError ? await lockoutOutcome(deps, target, way, thrown, actor) : thrown
    if (!isFailure(error)) await giveBackAttempt(deps, attempt)
    if (error instanceof ApiError) await record(error, target)
    throw error
  }
}

interface Beginning<T extends AttemptTarget> extends Pick<Steps<T, never>, 'target' | 'way'> {
  recordRefusal(error: ApiError, target: T | undefined): Promise<void>
}

/**
 * The target decides which limit counts the attempt, so it is looked up first. A full limit takes precedence over an error of
 * that lookup.
 */
async function begin<T extends AttemptTarget>(deps: Deps<Pool>, { target, way: wayOf, recordRefusal }: Beginning<T>) {
  const [found] = await Promise.allSettled([typeof target === 'function' ? target() : target])
  const known = found.status === 'fulfilled' ? found.value : undefined
  const way = wayOf(known)
  return recording(
    (error) => recordRefusal(error, known),
    async () => {
      const attempt = await takeAttempt(deps, way.limitKey, deps.config.accountLimit)
      if (found.status === 'fulfilled') return { attempt, target: found.value, way }
      await giveBackAttempt(deps, attempt)
      throw found.reason
    },
  )
}

/**
 * Counts a wrong password, and returns the error to answer with. Concurrent guesses all pass the first check of the lock, so
 * those that finish after the lock was set get only `account_locked`.
 */
async function lockoutOutcome(
  deps: Deps<Pool>,
  target: AttemptTarget,
  way: WayIn,
  error: ApiError,
  actor: Actor,
): Promise<ApiError> {
  const { email, user, app } = target
  try {
    if (error.code !== 'invalid_credentials') await assertNotLocked(deps, way.lockKeys)
    else if ((await countFailure(deps, { keys: way.lockKeys, userId: user?.id ?? null })).locks) {
      const about = { userId: user?.id ?? null, appId: app?.id ?? null }
      await recordEvent(deps, { event: 'user.locked', actor, ...about, details: { email } })
    }
    return error
  } catch (locked) {
    if (locked instanceof ApiError && locked.code === 'account_locked') return locked
    throw locked
  }
}

/** Errors that count as a failed attempt. */
const failureCodes: ReadonlySet<string> = new Set(['invalid_credentials', 'invalid_two_factor_code', 'account_locked'])

function isFailure(error: unknown): boolean {
  return error instanceof ApiError && failureCodes.has(error.code)
}
