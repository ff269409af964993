import type { Db, Pool, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A code that passes the second factor once, stored by its digest. */
export class RecoveryCode extends BaseModel {
  static override tableName = 'recovery_codes'
  static override idColumn = ['user_id', 'code_hash']

  declare user_id: string
  declare code_hash: string
  declare used_at: number | null

  static async replace(db: Tx, userId: string, hashes: readonly string[]): Promise<void> {
    await RecoveryCode.deleteOfUser(db, userId)
    await rowsOf(RecoveryCode, db).insert(hashes.map((code_hash) => ({ user_id: userId, code_hash })))
  }

  /** Spends the code with one of the digests. False if no such code is left. */
  static async spend(db: Pool, userId: string, hashes: readonly string[], now: number): Promise<boolean> {
    const used = await rowsOf(RecoveryCode, db)
      .where({ user_id: userId })
      .whereIn('code_hash', hashes)
      .whereNull('used_at')
      .update({ used_at: now })
    return used > 0
  }

  static async countLeft(db: Db, userId: string): Promise<number> {
    const [left] = await rowsOf(RecoveryCode, db).where({ user_id: userId }).whereNull('used_at').count({ n: '*' })
    return Number(left?.n)
  }

  static async deleteOfUser(db: Tx, userId: string): Promise<void> {
    await rowsOf(RecoveryCode, db).where({ user_id: userId }).delete()
  }
}
