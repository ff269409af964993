import type { Db } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

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
}

export type SigningKeyRow = Pick<SigningKey, 'id' | 'stage' | 'public_jwk' | 'private_box' | 'created_at' | 'stage_since'>
