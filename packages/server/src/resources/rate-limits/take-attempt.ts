import type { Pool } from '../../db/handle.ts'
import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Attempt, RateLimit } from '../../lib/rate-limit.ts'

export type { Attempt }

const taking = new Statement<{ resets_at: number }>(`
  insert into rate_limits (key, count, resets_at) values (:key, 1, :resetsAt)
  on conflict (key) do update set
    count = case when rate_limits.resets_at <= :now then 1 else rate_limits.count + 1 end,
    resets_at = case when rate_limits.resets_at <= :now then excluded.resets_at else rate_limits.resets_at end
  where rate_limits.count < :most or rate_limits.resets_at <= :now
  returning resets_at`)

const givingBack = new Statement(
  'update rate_limits set count = count - 1 where key = :key and resets_at = :resetsAt and count > 0',
)

/**
 * Counts an attempt in a fixed window that begins with its first hit (contract 8.3, decisions 2). One statement, so callers at once
 * and on several servers are all counted. It is committed by itself, whatever becomes of the request. One that is refused is not
 * counted: the room that a given back attempt makes is room.
 * Throws `rate_limited` with the seconds left.
 */
export async function takeAttempt(deps: Deps<Pool>, key: string, limit: RateLimit | null): Promise<Attempt | undefined> {
  if (limit === null) return undefined
  const now = deps.clock()
  const taken = await taking.first(deps.db, { key, now, resetsAt: now + limit.seconds * 1000, most: limit.count })
  if (taken) return { key, resetsAt: taken.resets_at }
  const full: { resets_at: number } | undefined = await deps.db('rate_limits').where({ key }).first('resets_at')
  throw new ApiError('rate_limited', { retryAfter: Math.max(0, (full?.resets_at ?? now) - now) / 1000 })
}

/** Takes an attempt back that turned out not to count. */
export async function giveBackAttempt(deps: Deps, attempt: Attempt | undefined): Promise<void> {
  if (!attempt) return
  await givingBack.run(deps.db, { key: attempt.key, resetsAt: attempt.resetsAt })
}
