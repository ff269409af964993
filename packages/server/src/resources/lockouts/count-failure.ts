import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type Lock, Lockout, type LockRule } from '../../models/lockout.ts'

/** A failed try: the keys that it counts under, and the user whose credentials it was for. */
export interface Failure {
  keys: readonly string[]
  userId: string | null
}

/** Throws `account_locked` if any of the keys is locked, with the longest time left in seconds. */
export async function assertNotLocked(deps: Deps, keys: readonly string[]): Promise<void> {
  if (keys.length > 0) refuseWhileLocked(deps, await Lockout.listLocks(deps.db, keys))
}

/** For passwords. The count starts over once the last failure is a lock time ago. */
function passwordRule({ config, clock }: Deps): LockRule {
  const lockMs = config.lockoutSeconds * 1_000
  return { threshold: config.lockoutThreshold, lockMs, maxLockMs: lockMs, staleBefore: clock() - lockMs }
}

/**
 * Counts a failure under all of its keys in one statement, outside of any transaction. If this failure locks, `locks` says how
 * often the keys have locked. A locked key counts nothing and its lock is not prolonged; afterwards the count starts again.
 * Throws `account_locked` if concurrent failures have locked meanwhile, so at most `threshold` of any number of concurrent
 * guesses learn that they were wrong.
 */
export async function countFailure(
  deps: Deps<Pool>,
  { keys, userId }: Failure,
  rule = passwordRule(deps),
): Promise<{ locks: number | undefined }> {
  const counted = await Lockout.count(deps.db, { keys, userId, now: deps.clock(), rule })
  if (counted.length < keys.length) await assertNotLocked(deps, keys)
  // The lock ended between the two statements.
  if (counted.length === 0) return countFailure(deps, { keys, userId }, rule)
  return { locks: counted.find(({ locked_until }) => locked_until !== null)?.locks }
}

/**
 * Clears the failures of the keys in `clear` after a complete login. Throws `account_locked` if a key in `barring` is locked.
 * Waits for failures that are being counted.
 */
export async function clearFailures(
  deps: Deps<Tx>,
  { barring, clear }: { barring: readonly string[]; clear: readonly string[] },
): Promise<void> {
  const keys = [...new Set([...barring, ...clear])].sort()
  const found = await Lockout.listLocksForUpdate(deps.db, keys)
  const among = (some: readonly string[]) => found.filter(({ key }) => some.includes(key))
  refuseWhileLocked(deps, among(barring))
  const counted = among(clear).map(({ key }) => key)
  if (counted.length > 0) await Lockout.clear(deps.db, counted)
}

function refuseWhileLocked(deps: Deps, locks: readonly Lock[]): void {
  const leftMs = Math.max(0, ...locks.map(({ locked_until }) => locked_until ?? 0)) - deps.clock()
  if (leftMs > 0) throw new ApiError('account_locked', { retryAfter: leftMs / 1_000 })
}
