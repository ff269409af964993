import type { Db, Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

export type Chain = Omit<Fields, 'id'>
type Fields = { [Name in keyof AuditChain as Name extends keyof BaseModel ? never : Name]: AuditChain[Name] }

/** Of the only row. Somebody may have inserted others. */
const id = 1

/**
 * Where the seals of the audit log end: one row, created by the first server. Former versions sealed each row, in a chain; what
 * they wrote is still sealed in it. `position` and `seal` are its end, which the first batch continues from.
 */
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
  /** The number of the last batch, 0 before the first. */
  declare batch: number
  declare batch_position: number
  declare batch_seal: string
  /** A snapshot. Rows that it sees are in batches, the others are not sealed yet. Null if only former versions have been here. */
  declare upto: string | null
  /** What is added to the id of a transaction to get a position that was never used before. */
  declare shift: number
  /** The last position that rows of former versions may get in their chain. */
  declare former_end: number
  /** 1 when all of them have one. */
  declare former_closed: number
  /** The position up to which that chain was compared. Null if only former versions have been here. */
  declare former_checked: number | null
  /** JSON, see `FormerFaults`. Null if none was found. */
  declare former_faults: string | null

  static async findOnly(db: Db): Promise<Chain | undefined> {
    return rowsOf(AuditChain, db).where({ id }).first()
  }

  static async findForUpdate(db: Tx): Promise<Chain | undefined> {
    return forUpdate(db, rowsOf(AuditChain, db).where({ id }).first())
  }

  /** Stores the chain, unless another server has done so meanwhile. */
  static async begin(db: Tx, chain: Chain): Promise<void> {
    await rowsOf(AuditChain, db)
      .insert({ id, ...chain })
      .onConflict('id')
      .ignore()
  }

  static async set(db: Tx, chain: Partial<Chain>): Promise<void> {
    const stored = await rowsOf(AuditChain, db).where({ id }).update(chain)
    if (stored !== 1) throw new Error('the database did not store the end of the audit chain')
  }
}
