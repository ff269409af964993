import type { Db, Pool, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'

export type Lock = Pick<Lockout, 'locked_until'>

const lockByKey = 'select locked_until from lockouts where key = :key'
const lockOf = new Statement<Lock>(lockByKey)
const lockOfForUpdate = new Statement<Lock>(`${lockByKey} for update`, [lockByKey])

/** The failed logins of one account, and the lock that they led to. */
export class Lockout extends BaseModel {
  static override tableName = 'lockouts'
  static override idColumn = 'key'

  declare key: string
  declare failures: number
  declare last_failed_at: number
  declare locked_until: number | null

  static async findLock(db: Db, key: string): Promise<Lock | undefined> {
    return lockOf.first(db, { key })
  }

  /** The same, locked until the transaction ends: failures that are being counted are waited for. */
  static async findLockForUpdate(db: Tx, key: string): Promise<Lock | undefined> {
    return lockOfForUpdate.first(db, { key })
  }

  static async findFailures(db: Db, key: string): Promise<Pick<Lockout, 'failures' | 'locked_until'> | undefined> {
    return rowsOf(Lockout, db).where({ key }).first('failures', 'locked_until')
  }

  /** Counts a failure, unless the key is locked: undefined then. The one that reaches the threshold locks it. */
  static async count(
    db: Pool,
    key: string,
    { now, lockMs, threshold }: { now: number; lockMs: number; threshold: number },
  ): Promise<Lock | undefined> {
    const locksAtOnce = threshold === 1 ? now + lockMs : null
    const startsAnew = 'lockouts.locked_until is not null or lockouts.last_failed_at <= ?'
    const [counted] = await rowsOf(Lockout, db)
      .insert({ key, failures: 1, last_failed_at: now, locked_until: locksAtOnce })
      .onConflict('key')
      .merge({
        failures: db.raw(`case when ${startsAnew} then 1 else lockouts.failures + 1 end`, [now - lockMs]),
        last_failed_at: now,
        // `excluded` is the row of a first failure; Postgres wants to be told the type of a bare value.
        locked_until: db.raw(
          `case when ${startsAnew} then excluded.locked_until when lockouts.failures + 1 >= ? then cast(? as bigint) end`,
          [now - lockMs, threshold, now + lockMs],
        ),
      })
      .where((row) => row.whereNull('lockouts.locked_until').orWhere('lockouts.locked_until', '<=', now))
      .returning('locked_until')
    return counted
  }

  static async clear(db: Tx, key: string): Promise<void> {
    await rowsOf(Lockout, db).where({ key }).delete()
  }

  /** Those that count for nothing any more: the last failure lies before `until`, and no lock is left. */
  static async deleteExpired(db: Pool, { now, until, limit }: Expired): Promise<number> {
    const some = db(Lockout.tableName)
      .where('last_failed_at', '<=', until)
      .andWhere((lock) => lock.whereNull('locked_until').orWhere('locked_until', '<=', now))
    return deleteByKey(Lockout, db, some.limit(limit))
  }
}
