import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { addressKey, networkOf } from '../../lib/client-address.ts'
import type { Attempt, AttemptLimit } from '../../lib/rate-limit.ts'
import { RateLimit } from '../../models/rate-limit.ts'
import { takeAttempt, takeAttempts } from './take-attempt.ts'

/**
 * Providers give a customer a /64 or a whole /48, which holds 65,536 of them. All of a /48 together may try this many times as
 * often as one /64: enough for an office, while changing the /64 gains little.
 */
const siteFactor = 10

/** What is counted by address: calls of the API and of pages, and third-party logins that begin. */
export type CountedByAddress = 'ip' | 'sso-start'

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
