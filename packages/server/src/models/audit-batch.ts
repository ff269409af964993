import type { Db } from '../db/handle.ts'
import type { BatchFacts } from '../lib/audit-proof.ts'
import { BaseModel, rowsOf } from './base-model.ts'

export type Batch = BatchFacts & { seal: string }

/** Events of the audit log that were sealed together. */
export class AuditBatch extends BaseModel implements Batch {
  static override tableName = 'audit_batches'
  static override idColumn = 'number'

  declare number: number
  declare position: number
  declare count: number
  declare upto: string
  declare tags: string
  declare seal: string
  declare sealed_at: number
  declare content: string | null

  /** The batches after a number, in order, with about `events` events together; at least one, if there is one. */
  static async listAfter(db: Db, number: number, events: number): Promise<Batch[]> {
    const sizes = await rowsOf(AuditBatch, db)
      .where('number', '>', number)
      .orderBy('number')
      .limit(mostBatches)
      .select('number', 'count')
    let sum = 0
    const cut = sizes.findIndex(({ count }) => {
      sum += count
      return sum >= events
    })
    const last = sizes.at(cut)
    return last ? rowsOf(AuditBatch, db).where('number', '>', number).where('number', '<=', last.number).orderBy('number') : []
  }
}

const mostBatches = 2_000
