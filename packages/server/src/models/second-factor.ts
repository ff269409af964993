import type { Db, Pool, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** What a code is checked against. */
export type FactorRow = Pick<SecondFactor, 'user_id' | 'totp_box' | 'activated_at' | 'last_step'>

/** The columns of a `FactorRow` in a statement over `second_factors f`. */
export const factorColumns = 'f.user_id, f.totp_box, f.activated_at, f.last_step'

/** Whether the user of `users u` has an active second factor. */
export const hasFactorColumn = `exists (select 1 from second_factors where user_id = u.id and activated_at is not null) as has_factor`

/** The second factor of a user. Logins ask for it only once it is activated. */
export class SecondFactor extends BaseModel {
  static override tableName = 'second_factors'
  static override idColumn = 'user_id'

  declare user_id: string
  /** The seed, sealed for this user. */
  declare totp_box: string
  declare activated_at: number | null
  /** The newest accepted time step: it and all before it are spent. */
  declare last_step: number | null
  declare created_at: number

  static async findActive(db: Db, userId: string): Promise<FactorRow | undefined> {
    return rowsOf(SecondFactor, db)
      .where({ user_id: userId })
      .whereNotNull('activated_at')
      .first('user_id', 'totp_box', 'activated_at', 'last_step')
  }

  /** Stores a seed, and replaces one that is not active. False if the user has an active one. */
  static async setUp(db: Tx, factor: Pick<SecondFactor, 'user_id' | 'totp_box' | 'created_at'>): Promise<boolean> {
    const { user_id, totp_box, created_at } = factor
    const stored = await rowsOf(SecondFactor, db)
      .insert({ user_id, totp_box, activated_at: null, last_step: null, created_at })
      .onConflict('user_id')
      .merge(['totp_box', 'created_at'])
      .whereNull('second_factors.activated_at')
      .returning('user_id')
    return stored.length > 0
  }

  /** Activates the factor. Of concurrent calls one succeeds, and none with a seed that was replaced. */
  static async activate(
    db: Tx,
    { user_id, totp_box }: FactorRow,
    { now, step }: { now: number; step: number },
  ): Promise<boolean> {
    const activated = await rowsOf(SecondFactor, db)
      .where({ user_id, totp_box })
      .whereNull('activated_at')
      .update({ activated_at: now, last_step: step })
    return activated > 0
  }

  /** Spends a time step. Of concurrent uses one succeeds. */
  static async spendStep(db: Pool, { user_id, totp_box }: FactorRow, step: number): Promise<boolean> {
    const updated = await rowsOf(SecondFactor, db)
      .where({ user_id, totp_box })
      .andWhere((row) => row.whereNull('last_step').orWhere('last_step', '<', step))
      .update({ last_step: step })
    return updated > 0
  }

  /** How many seeds are sealed under each key, by the prefix of their boxes. */
  static async countByKey(db: Db): Promise<{ box: string; count: number }[]> {
    const start = 'substr(totp_box, 1, 9)'
    const counted: { box: string; count: number }[] = await db(SecondFactor.tableName)
      .select(db.raw(`${start} as box`))
      .count({ count: '*' })
      .groupByRaw(start)
    return counted.map(({ box, count }) => ({ box, count: Number(count) }))
  }
}

/** A code that passes the second factor once, stored by its digest. */
export class RecoveryCode extends BaseModel {
  static override tableName = 'recovery_codes'
  static override idColumn = ['user_id', 'code_hash']

  declare user_id: string
  declare code_hash: string
  declare used_at: number | null

  /** Spends the code with one of the digests. False if no such code is left. */
  static async spend(db: Pool, userId: string, hashes: readonly string[], now: number): Promise<boolean> {
    const used = await rowsOf(RecoveryCode, db)
      .where({ user_id: userId })
      .whereIn('code_hash', hashes)
      .whereNull('used_at')
      .update({ used_at: now })
    return used > 0
  }
}
