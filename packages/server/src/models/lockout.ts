import type { Db, Pool, Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { Statement } from '../db/statement.ts'
import type { PageRequest } from '../lib/keyset.ts'
import { afterKeysOf, keysOfMailCodes, keysOfSecondFactors } from '../lib/lock-keys.ts'
import { BaseModel, type Expired, rowsOf } from './base-model.ts'
import { withPageByName } from './list-query.ts'

export type Lock = Pick<Lockout, 'key' | 'failures' | 'locked_until'>

/** When failures lock, and for how long. */
export interface LockRule {
  threshold: number
  /** The length of the first lock. Each further one lasts twice as long as the one before, up to `maxLockMs`. */
  lockMs: number
  maxLockMs: number
  /** Failures before this time are forgotten. */
  staleBefore: number
}

/** The keys, read from one bound value: a JSON list. */
const given = {
  postgres: '(select json_array_elements_text(cast(:keys as json)) collate "C" as key)',
  sqlite: '(select value as key from json_each(:keys))',
}

const amongOf = (from: string, keys: string) => `select key, failures, locked_until from lockouts where key ${from} ${keys}`
const amongPostgres = amongOf('= any', `(array${given.postgres})`)
const amongSqlite = amongOf('in', given.sqlite)
const locksOf = new Statement<Lock>(amongPostgres, [amongSqlite])
// Every statement locks its rows in the order of their keys, so that no two of them deadlock.
const locksOfForUpdate = new Statement<Lock>(`${amongPostgres} order by key for update`, [amongSqlite])

const isOver = 'lockouts.locked_until is not null or lockouts.last_failed_at <= :staleBefore'
const failures = `case when ${isOver} then 1 else lockouts.failures + 1 end`
const doubled = 'cast(:lockMs as bigint) << lockouts.locks'
const lockMs = `case when lockouts.locks > 30 or ${doubled} > :maxLockMs then cast(:maxLockMs as bigint) else ${doubled} end`

const countingOf = (keys: string, locks: string, userId: string) => `
  insert into lockouts (key, user_id, failures, last_failed_at, locked_until, locks)
  select given.key, ${userId}, 1, cast(:now as bigint),
    case when 1 >= :threshold then cast(:now as bigint) + cast(:lockMs as bigint) end, case when 1 >= :threshold then 1 else 0 end
  from ${keys} as given
  where coalesce((select max(locked_until) from (${locks}) as locks), 0) <= :now
  order by given.key
  on conflict (key) do update set
    user_id = coalesce(excluded.user_id, lockouts.user_id),
    failures = ${failures},
    last_failed_at = excluded.last_failed_at,
    locked_until = case when ${failures} >= :threshold then excluded.last_failed_at + ${lockMs} end,
    locks = lockouts.locks + case when ${failures} >= :threshold then 1 else 0 end
  where lockouts.locked_until is null or lockouts.locked_until <= :now
  returning key, failures, locked_until, locks`
const counting = new Statement<Lock & Pick<Lockout, 'locks'>>(
  countingOf(given.postgres, amongPostgres, 'cast(:userId as uuid)'),
  [countingOf(given.sqlite, amongSqlite, ':userId')],
)

const expired = `delete from lockouts where key in (
  select key from lockouts
  where last_failed_at <= :until and (locked_until is null or locked_until <= :now) and key not like '${keysOfSecondFactors}%'
    and (key not like '${keysOfMailCodes}%' or last_failed_at <= :longUntil)
  order by key limit :limit`
const deletingExpired = new Statement(`${expired} for update skip locked)`, [`${expired})`])

const dayMs = 86_400_000

const mostSeen = 5_000
const lockedNow = new Statement<LockedNow>(`
  select key, user_id, failures, locked_until, count(*) over () as total from (
    select key, user_id, failures, locked_until, last_failed_at from lockouts order by last_failed_at desc limit ${mostSeen}
  ) as newest
  where locked_until > :now order by last_failed_at desc, key limit :limit`)

type LockedNow = Lock & Pick<Lockout, 'user_id'> & { total: number }

/** Failed tries that are counted together, and the lock that they led to. */
export class Lockout extends BaseModel {
  static override tableName = 'lockouts'
  static override idColumn = 'key'

  declare key: string
  /** The user whose credentials they were for. Null if no user has the address. */
  declare user_id: string | null
  declare failures: number
  declare last_failed_at: number
  declare locked_until: number | null
  /** How often the key was locked. */
  declare locks: number

  static async listLocks(db: Db, keys: readonly string[]): Promise<Lock[]> {
    return locksOf.all(db, { keys: JSON.stringify(keys) })
  }

  /** Lists the locks, and locks their rows until the transaction ends. Waits for failures that are being counted. */
  static async listLocksForUpdate(db: Tx, keys: readonly string[]): Promise<Lock[]> {
    return locksOfForUpdate.all(db, { keys: JSON.stringify(keys) })
  }

  /**
   * Counts a failure under each of the keys in one statement. A count that reaches the threshold locks its key. While any of the
   * keys is locked it counts nothing. The result leaves out keys that were locked at the same moment.
   */
  static async count(
    db: Pool,
    { keys, userId, now, rule }: { keys: readonly string[]; userId: string | null; now: number; rule: LockRule },
  ): Promise<(Lock & Pick<Lockout, 'locks'>)[]> {
    return counting.all(db, { keys: JSON.stringify(keys), userId, now, ...rule })
  }

  /** The counters whose keys have this prefix. Locks them until the transaction ends. */
  static async listByPrefixForUpdate(db: Tx, prefix: string): Promise<Lock[]> {
    const query = rowsOf(Lockout, db).where('key', '>=', prefix).andWhere('key', '<', afterKeysOf(prefix)).orderBy('key')
    return forUpdate(db, query.select('key', 'failures', 'locked_until'))
  }

  /** One counter. Locks it until the transaction ends. */
  static async findForUpdate(db: Tx, key: string): Promise<(Lock & Pick<Lockout, 'user_id'>) | undefined> {
    const query = rowsOf(Lockout, db).where({ key }).select('key', 'user_id', 'failures', 'locked_until')
    return (await forUpdate(db, query))[0]
  }

  static async clear(db: Tx, keys: readonly string[]): Promise<void> {
    await rowsOf(Lockout, db)
      .whereIn('key', [...keys])
      .delete()
  }

  /** The counters in force, by key: locked now, or with failures after `staleBefore`. Second-factor failures never expire. */
  static async listPage(db: Db, { now, staleBefore, ...request }: PageRequest & { now: number; staleBefore: number }) {
    const query = Lockout.query(db).where((any) => {
      any.where('locked_until', '>', now).orWhere((counted) => {
        counted.whereNull('locked_until')
        counted.where((recent) => {
          recent.where('last_failed_at', '>', staleBefore).orWhere('key', 'like', `${keysOfSecondFactors}%`)
        })
      })
    })
    return withPageByName(query, request, 'key')
  }

  /**
   * The current locks, newest first, and their number. Looks at the 5,000 counters that failed last, so a flood costs no more.
   */
  static async listLocked(db: Db, { now, limit }: { now: number; limit: number }): Promise<LockedNow[]> {
    return lockedNow.all(db, { now, limit })
  }

  /**
   * Deletes counters that no longer matter: the last failure was before `until`, and no lock is left. Failures of a second factor
   * count until a login or an admin clears them. Those of mail codes stay for another day, so that the next lock is longer.
   */
  static async deleteExpired(db: Pool, { now, until, limit }: Expired): Promise<number> {
    return deletingExpired.run(db, { now, until, longUntil: until - dayMs, limit })
  }
}
