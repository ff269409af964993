import type { Db, Pool } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { BaseModel, rowsOf } from './base-model.ts'

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

const finding = new Statement<{ resets_at: number }>(
  'select resets_at from rate_limits where key = :key and count >= :most and resets_at > :now',
)

/** The attempts of one caller in a window of time. */
export class RateLimit extends BaseModel {
  static override tableName = 'rate_limits'
  static override idColumn = 'key'

  declare key: string
  declare count: number
  declare resets_at: number

  /** Counts an attempt. The first one opens a window that ends at `resetsAt`. Undefined if there were `most` already. */
  static async take(
    db: Pool,
    attempt: { key: string; now: number; resetsAt: number; most: number },
  ): Promise<{ resets_at: number } | undefined> {
    return taking.first(db, attempt)
  }

  /** Gives an attempt back, only in the window that it was counted in. */
  static async giveBack(db: Db, attempt: { key: string; resetsAt: number }): Promise<void> {
    await givingBack.run(db, attempt)
  }

  /** The window of the key, if it has not ended and has no attempt left. */
  static async findFull(
    db: Db,
    { key, now, most }: { key: string; now: number; most: number },
  ): Promise<{ resets_at: number } | undefined> {
    return finding.first(db, { key, now, most })
  }

  static async findEnd(db: Db, key: string): Promise<{ resets_at: number } | undefined> {
    return rowsOf(RateLimit, db).where({ key }).first('resets_at')
  }
}
