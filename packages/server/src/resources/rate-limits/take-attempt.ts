import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Attempt, AttemptLimit } from '../../lib/rate-limit.ts'
import { RateLimit } from '../../models/rate-limit.ts'

export type { Attempt }

/**
 * Counts an attempt in a fixed window that begins with its first attempt. It is one statement, so concurrent calls on all servers
 * are counted, and it is committed even if the request fails. A refused attempt is not counted, so an attempt that is given back
 * makes room for another one. Throws `rate_limited` with the seconds left.
 */
export async function takeAttempt(deps: Deps<Pool>, key: string, limit: AttemptLimit | null): Promise<Attempt | undefined> {
  if (limit === null) return undefined
  const now = deps.clock()
  const taken = await RateLimit.take(deps.db, { key, now, resetsAt: now + limit.seconds * 1000, most: limit.count })
  if (taken) return { key, resetsAt: taken.resets_at }
  const full = await RateLimit.findEnd(deps.db, key)
  throw new ApiError('rate_limited', { retryAfter: Math.max(0, (full?.resets_at ?? now) - now) / 1000 })
}

/** Counts an attempt under several keys, or under none of them if one has no room. Throws `rate_limited`. */
export async function takeAttempts(
  deps: Deps<Pool>,
  keys: readonly (readonly [string, AttemptLimit | null])[],
): Promise<Attempt[]> {
  const taken: Attempt[] = []
  try {
    for (const [key, limit] of keys) {
      const attempt = await takeAttempt(deps, key, limit)
      if (attempt) taken.push(attempt)
    }
    return taken
  } catch (error) {
    await giveBackAttempts(deps, taken)
    throw error
  }
}

export async function giveBackAttempts(deps: Deps, attempts: readonly Attempt[]): Promise<void> {
  for (const attempt of attempts) await giveBackAttempt(deps, attempt)
}

/** Gives back an attempt that does not count. */
export async function giveBackAttempt(deps: Deps, attempt: Attempt | undefined): Promise<void> {
  if (attempt) await RateLimit.giveBack(deps.db, attempt)
}
