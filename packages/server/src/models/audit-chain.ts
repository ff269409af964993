import type { Db, Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

export type Chain = Pick<AuditChain, 'position' | 'seal' | 'began_at' | 'adopts_until' | 'signature' | 'keys' | 'sealed_at'>

/** The end of the audit log's chain of seals: one row, created when the first rows are sealed. */
export class AuditChain extends BaseModel {
  static override tableName = 'audit_chain'

  declare id: number
  declare position: number
  declare seal: string
  declare began_at: number
  declare adopts_until: number
  declare signature: string
  /** JSON. */
  declare keys: string
  declare sealed_at: number

  static async find(db: Db): Promise<Chain | undefined> {
    return rowsOf(AuditChain, db).first()
  }

  static async findForUpdate(db: Tx): Promise<Chain | undefined> {
    return forUpdate(db, rowsOf(AuditChain, db).first())
  }

  /** Stores the chain, unless another server has done so meanwhile. */
  static async begin(db: Tx, chain: Chain): Promise<void> {
    await rowsOf(AuditChain, db)
      .insert({ id: 1, ...chain })
      .onConflict('id')
      .ignore()
  }

  static async set(db: Tx, chain: Partial<Chain>): Promise<void> {
    const stored = await rowsOf(AuditChain, db).update(chain)
    if (stored !== 1) throw new Error('the database did not store the end of the audit chain')
  }
}
