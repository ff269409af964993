import type { Tx } from '../db/handle.ts'
import { forUpdateOfUnlocked } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

const dayMs = 86_400_000

/** Something that one of the servers does once a day. */
export class DailyTask extends BaseModel {
  static override tableName = 'daily_tasks'
  static override idColumn = 'name'

  declare name: 'recount_pools'
  declare done_at: number

  /**
   * True if it was last done a day ago or longer, and no other server is doing it. It then counts as done when `db` commits. A time
   * that lies more than a day ahead comes from a clock that was wrong, and does not count.
   */
  static async claim(db: Tx, name: DailyTask['name'], now: number): Promise<boolean> {
    const due = rowsOf(DailyTask, db)
      .where({ name })
      .where((late) => late.where('done_at', '<=', now - dayMs).orWhere('done_at', '>', now + dayMs))
    const [free] = await forUpdateOfUnlocked(db, due.select('name'))
    if (!free) return false
    await rowsOf(DailyTask, db).where({ name }).update({ done_at: now })
    return true
  }
}
