import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'
import { type Lock, Lockout } from '../../models/lockout.ts'

/**
 * What failures are counted by: the user, or for an address that no user of the app has, a digest of address and app, so that both
 * are counted and answered alike.
 */
export function lockoutKey(deps: Deps, input: { userId: string | undefined; email: string; appId: string | undefined }): string {
  if (input.userId !== undefined) return `user:${input.userId}`
  return `address:${keyedDigest(deps.config.encryptionKeys[0], 'lockout', input.email, input.appId ?? '')}`
}

/** Throws `account_locked` with the seconds left. */
export async function assertNotLocked(deps: Deps, key: string): Promise<void> {
  refuseWhileLocked(deps, await Lockout.findLock(deps.db, key))
}

/**
 * Counts a failure, in one statement that is committed by itself; says whether it is the one that locks. While locked nothing is
 * counted and the lock is not prolonged; afterwards, or when the last failure lies a lock time back, the count begins anew.
 * Throws `account_locked` when others have locked meanwhile: of any number of guesses at once, no more than the threshold are told
 * that they were wrong.
 */
export async function countFailure(deps: Deps<Pool>, key: string): Promise<{ locks: boolean }> {
  const { lockoutThreshold, lockoutSeconds } = deps.config
  const limits = { now: deps.clock(), lockMs: lockoutSeconds * 1000, threshold: lockoutThreshold }
  const counted = await Lockout.count(deps.db, key, limits)
  if (counted) return { locks: counted.locked_until !== null }
  await assertNotLocked(deps, key)
  // The lock ended between the two statements.
  return countFailure(deps, key)
}

/**
 * Forgets all failures: after a complete login, an unlock or a reset. `unlessLocked` throws `account_locked` instead when there is a
 * lock, which needs a transaction: failures that are being counted are waited for.
 */
export async function clearFailures(deps: Deps<Tx>, key: string, { unlessLocked = false } = {}): Promise<void> {
  const lock = await Lockout.findLockForUpdate(deps.db, key)
  if (unlessLocked) refuseWhileLocked(deps, lock)
  if (lock) await Lockout.clear(deps.db, key)
}

function refuseWhileLocked(deps: Deps, lock: Lock | undefined): void {
  const leftMs = (lock?.locked_until ?? 0) - deps.clock()
  if (leftMs > 0) throw new ApiError('account_locked', { retryAfter: leftMs / 1000 })
}
