import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { addressKey, networkOf } from '../../lib/client-address.ts'
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

/**
 * Providers give a customer a /64 or a whole /48, which holds 65,536 of them. All of a /48 together may try this many times as
 * often as one /64: enough for an office, while changing the /64 gains little.
 */
const siteFactor = 10

/** What is counted by address: calls of the API and of pages, and third-party logins that begin. */
type CountedByAddress = 'ip' | 'sso-start'

/** Counts a call against AUTH_RATE_LIMIT_IP: by address, IPv6 by /64, and with a wider bound by /48. Throws `rate_limited`. */
export async function takeByAddress(deps: Deps<Pool>, counted: CountedByAddress, ip: string): Promise<Attempt[]> {
  return takeAttempts(deps, keysOf(deps, counted, ip))
}

/** For calls that count only when they fail. Throws `rate_limited` while the address, or its /48, has no attempt left. */
export async function assertRoomForAddress(deps: Deps, counted: CountedByAddress, ip: string): Promise<void> {
  const now = deps.clock()
  for (const [key, limit] of keysOf(deps, counted, ip)) {
    const full = limit && (await RateLimit.findFull(deps.db, { key, now, most: limit.count }))
    if (full) throw new ApiError('rate_limited', { retryAfter: (full.resets_at - now) / 1000 })
  }
}

function keysOf({ config }: Deps, counted: CountedByAddress, ip: string): [string, AttemptLimit | null][] {
  const limit = config.ipLimit
  const site = networkOf(ip, 48)
  const own: [string, AttemptLimit | null] = [`${counted}:${addressKey(ip)}`, limit]
  return site === ip ? [own] : [own, [`${counted}:${site}`, limit && { ...limit, count: limit.count * siteFactor }]]
}

/** Limits calls that hash a password or send mail, so that a stolen token cannot cause many of them. Throws `rate_limited`. */
export async function limitUser(deps: Deps<Pool>, caller: Pick<UserCaller, 'userId'>): Promise<void> {
  await takeAttempt(deps, `user:${caller.userId}`, deps.config.userLimit)
}
