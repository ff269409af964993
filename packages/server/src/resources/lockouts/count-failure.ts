import type { Pool, Tx } from '../../db/handle.ts'
import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { keyedDigest } from '../../lib/keyed-digest.ts'

interface Lock {
  locked_until: number | null
}

const lockByKey = 'select locked_until from lockouts where key = :key'
const lockOf = new Statement<Lock>(lockByKey)
const lockOfForUpdate = new Statement<Lock>(`${lockByKey} for update`, [lockByKey])

/**
 * What failures are counted by: the user, or for an address that no user of the app has, a digest of address and app, so that both
 * are counted and answered alike (decisions 5).
 */
export function lockoutKey(deps: Deps, input: { userId: string | undefined; email: string; appId: string | undefined }): string {
  if (input.userId !== undefined) return `user:${input.userId}`
  return `address:${keyedDigest(deps.config.encryptionKeys[0], 'lockout', input.email, input.appId ?? '')}`
}

/** Throws `account_locked` with the seconds left. */
export async function assertNotLocked(deps: Deps, key: string): Promise<void> {
  refuseWhileLocked(deps, await lockOf.first(deps.db, { key }))
}

/**
 * Counts a failure, in one statement that is committed by itself; says whether it is the one that locks. While locked nothing is
 * counted and the lock is not prolonged; afterwards, or when the last failure lies a lock time back, the count begins anew.
 * Throws `account_locked` when others have locked meanwhile: of any number of guesses at once, no more than the threshold are told
 * that they were wrong.
 */
export async function countFailure(deps: Deps<Pool>, key: string): Promise<{ locks: boolean }> {
  const { lockoutThreshold, lockoutSeconds } = deps.config
  const now = deps.clock()
  const lockMs = lockoutSeconds * 1000
  const locksAtOnce = lockoutThreshold === 1 ? now + lockMs : null
  const startsAnew = 'lockouts.locked_until is not null or lockouts.last_failed_at <= ?'
  const [counted]: Lock[] = await deps
    .db('lockouts')
    .insert({ key, failures: 1, last_failed_at: now, locked_until: locksAtOnce })
    .onConflict('key')
    .merge({
      failures: deps.db.raw(`case when ${startsAnew} then 1 else lockouts.failures + 1 end`, [now - lockMs]),
      last_failed_at: now,
      // `excluded` is the row of a first failure; Postgres wants to be told the type of a bare value.
      locked_until: deps.db.raw(
        `case when ${startsAnew} then excluded.locked_until when lockouts.failures + 1 >= ? then cast(? as bigint) end`,
        [now - lockMs, lockoutThreshold, now + lockMs],
      ),
    })
    .where((row) => row.whereNull('lockouts.locked_until').orWhere('lockouts.locked_until', '<=', now))
    .returning('locked_until')
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
  const lock = await lockOfForUpdate.first(deps.db, { key })
  if (unlessLocked) refuseWhileLocked(deps, lock)
  if (lock) await deps.db('lockouts').where({ key }).delete()
}

function refuseWhileLocked(deps: Deps, lock: Lock | undefined): void {
  const leftMs = (lock?.locked_until ?? 0) - deps.clock()
  if (leftMs > 0) throw new ApiError('account_locked', { retryAfter: leftMs / 1000 })
}
