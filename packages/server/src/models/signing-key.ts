import type { Db, Pool, Tx } from '../db/handle.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'

/** A key that signs ID tokens, has signed them, or is going to. */
export class SigningKey extends BaseModel {
  static override tableName = 'signing_keys'

  /** Its `kid`. */
  declare id: string
  /** The current key signs. The next one is published before it does, and a retired one for as long as a token of it lives. */
  declare stage: 'next' | 'current' | 'retired'
  /** A JWK, as JSON. */
  declare public_jwk: string
  /** Sealed. Null once it is retired. */
  declare private_box: string | null
  declare created_at: number
  declare stage_since: number

  /** The next and the current key first, then those that were retired, the last one first. */
  static async listAll(db: Db): Promise<SigningKeyRow[]> {
    const rows: SigningKeyRow[] = await rowsOf(SigningKey, db).orderBy('stage_since', 'desc')
    const order = { next: 0, current: 1, retired: 2 }
    return rows.sort((a, b) => order[a.stage] - order[b.stage])
  }

  static async insert(db: Tx, row: SigningKeyRow): Promise<void> {
    await rowsOf(SigningKey, db).insert(row)
  }

  /** Retires the current key, which then cannot sign any more. */
  static async retireCurrent(db: Tx, now: number): Promise<void> {
    await rowsOf(SigningKey, db).where({ stage: 'current' }).update({ stage: 'retired', private_box: null, stage_since: now })
  }

  static async promoteNext(db: Tx, now: number): Promise<void> {
    await rowsOf(SigningKey, db).where({ stage: 'next' }).update({ stage: 'current', stage_since: now })
  }

  static async deleteAll(db: Tx): Promise<void> {
    await rowsOf(SigningKey, db).delete()
  }

  /** Deletes keys that were retired by then. */
  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    const over = db(SigningKey.tableName).where('stage', 'retired').where('stage_since', '<=', until)
    return deleteByKey(SigningKey, db, over.limit(limit))
  }

  static async listBoxes(db: Db): Promise<Pick<SigningKey, 'private_box'>[]> {
    return rowsOf(SigningKey, db).select('private_box')
  }
}

export type SigningKeyRow = Pick<SigningKey, 'id' | 'stage' | 'public_jwk' | 'private_box' | 'created_at' | 'stage_since'>
