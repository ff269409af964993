import type { Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A sealed field that was used, by its hash, until it would expire. */
export class SpentField extends BaseModel {
  static override tableName = 'spent_fields'
  static override idColumn = 'hash'

  declare hash: string
  declare expires_at: number

  /** Of concurrent uses of a field one gets true. */
  static async spend(db: Tx, row: { hash: string; expires_at: number }): Promise<boolean> {
    return (await rowsOf(SpentField, db).insert(row).onConflict('hash').ignore().returning('hash')).length > 0
  }
}
