import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { page, timestamp } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { addressPrefix, devicePrefix, mailCodeKey, poolOfKey, secondFactorKey, sessionPrefix } from '../../lib/lock-keys.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import { isoOrNull } from '../../lib/timestamps.ts'
import { type Lock, Lockout, type LockRule } from '../../models/lockout.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertMayHelp } from '../users/administration.ts'
import { listUsersByIds, listUsersOfEmail } from '../users/find-users.ts'
import { lockUser } from '../users/users.ts'

const lockoutRecord = z
  .object({
    key: z.string().meta({ description: 'The key under which the failures are counted' }),
    email: z.string().nullable().meta({ description: 'Null if no user has the address' }),
    pool: z.string().nullable().meta({ description: 'Null for a known device and for a second factor' }),
    locked_until: timestamp.nullable().meta({ description: 'Null if the failures have not led to a lock' }),
    failures: z.int(),
  })
  .meta({ id: 'Lockout' })
type LockoutRecord = z.output<typeof lockoutRecord>

export const lockoutPage = page(lockoutRecord)

/** Lists locks, and counters of failures that may become one, by key. */
export async function listLockouts(deps: Deps, request: PageRequest): Promise<Page<LockoutRecord>> {
  const now = deps.clock()
  const staleBefore = now - deps.config.lockoutSeconds * 1_000
  const { items, nextCursor } = await Lockout.listPage(deps.db, { ...request, now, staleBefore })
  return { items: await describeLockouts(deps, items), nextCursor }
}

/** Counters of failures as an admin sees them, each with the e-mail of its user if one is known. */
export async function describeLockouts(
  deps: Deps,
  counters: readonly Pick<Lockout, 'key' | 'user_id' | 'failures' | 'locked_until'>[],
): Promise<LockoutRecord[]> {
  const ids = counters.flatMap(({ user_id }) => user_id ?? [])
  const users = new Map((await listUsersByIds(deps, [...new Set(ids)])).map((user) => [user.id, user]))
  return counters.map(({ key, user_id, failures, locked_until }) => {
    const pool = poolOfKey(key) ?? null
    const email = (user_id && users.get(user_id)?.email) || null
    // The counter may belong to a former address of the user.
    const isOfAddress = email !== null && key.startsWith(addressPrefix(deps.config.encryptionKeys[0], email))
    return { key, email: pool === null || isOfAddress ? email : null, pool, locked_until: isoOrNull(locked_until), failures }
  })
}

/** Clears one counter of failures and its lock. Throws `not_found`. */
export async function clearLockout(deps: Deps<Pool>, key: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const counter = await Lockout.findForUpdate(deps.db, key)
    if (!counter) throw new ApiError('not_found', { detail: 'No failures are counted under this key' })
    await Lockout.clear(deps.db, [key])
    const isLocked = counter.locked_until !== null && counter.locked_until > deps.clock()
    const details = { key, before: { failures: counter.failures, locked: isLocked }, after: { failures: 0, locked: false } }
    await recordEvent(deps, { event: 'user.unlocked', actor, userId: counter.user_id, details })
  })
}

/** Clears the failed logins of a user and their locks, if there are any. Throws `not_found`. */
export async function unlockUser(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const { email } = await lockUser(deps, userId)
    await assertMayHelp(deps, userId, actor)
    const forgotten = await forgetFailures(deps, { id: userId, email }, { codes: true })
    if (!forgotten) return
    const before = { failures: forgotten.failures, locked: forgotten.isLocked }
    const details = { before, after: { failures: 0, locked: false } }
    await recordEvent(deps, { event: 'user.unlocked', actor, userId, details })
  })
}

interface Forgotten {
  failures: number
  isLocked: boolean
}

/**
 * Clears the wrong passwords of a user and their locks: those of the address, except in pools where another user has it, and
 * those of the user's devices and sessions. With `codes` it clears wrong codes too, of the second factor and of mails. Returns what
 * it cleared, or undefined if there was nothing.
 */
export async function forgetFailures(
  deps: Deps<Tx>,
  user: { id: string; email: string },
  { codes }: { codes: boolean },
): Promise<Forgotten | undefined> {
  const others = (await listUsersOfEmail(deps, user.email)).users.filter(({ id }) => id !== user.id)
  // Failures in the pools of another user with this address may be guesses at that user's password.
  const ofOthers = poolsOf(others)
  const [key] = deps.config.encryptionKeys
  const keysOfCodes = [secondFactorKey(user.id), mailCodeKey(key, user.email, true), mailCodeKey(key, user.email, false)]
  const ofAddress = await Lockout.listByPrefixForUpdate(deps.db, addressPrefix(key, user.email))
  const rows = [
    ...ofAddress.filter(({ key }) => !ofOthers.includes(poolOfKey(key)!)),
    ...(await Lockout.listByPrefixForUpdate(deps.db, devicePrefix(user.id))),
    ...(await Lockout.listByPrefixForUpdate(deps.db, sessionPrefix(user.id))),
    ...(codes ? await Lockout.listLocksForUpdate(deps.db, keysOfCodes.sort()) : []),
  ]
  if (rows.length === 0) return undefined
  await Lockout.clear(
    deps.db,
    rows.map(({ key }) => key),
  )
  const now = deps.clock()
  return {
    failures: Math.max(...rows.map(({ failures }) => failures)),
    isLocked: rows.some(({ locked_until }) => locked_until !== null && locked_until > now),
  }
}

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

/** For how many seconds any of the keys is still locked. */
export async function secondsOfLock(deps: Deps, keys: readonly string[]): Promise<number> {
  return Math.max(0, leftMsOf(deps, await Lockout.listLocks(deps.db, keys)) / 1_000)
}

function leftMsOf(deps: Deps, locks: readonly Lock[]): number {
  return Math.max(0, ...locks.map(({ locked_until }) => locked_until ?? 0)) - deps.clock()
}

function refuseWhileLocked(deps: Deps, locks: readonly Lock[]): void {
  const leftMs = leftMsOf(deps, locks)
  if (leftMs > 0) throw new ApiError('account_locked', { retryAfter: leftMs / 1_000 })
}
