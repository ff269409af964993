import type { Db } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** What a device waits with until a person allows its sign-in. Once it is allowed, an authorization code has the same hash. */
export class DeviceCode extends BaseModel {
  static override tableName = 'device_codes'
  static override idColumn = 'hash'

  declare hash: string
  /** A keyed digest of the short code that the person types. */
  declare user_code_hash: string
  declare app_id: string
  declare scope: string
  declare state: 'pending' | 'approved' | 'denied'
  /** Where the device is, as the person is told. */
  declare ip: string | null
  declare user_agent: string | null
  declare created_at: number
  declare expires_at: number
  declare polled_at: number | null

  /** False if the short code belongs to another device. */
  static async add(db: Db, row: Omit<DeviceCodeRow, 'state' | 'polled_at'>): Promise<boolean> {
    const inserted = await rowsOf(DeviceCode, db)
      .insert({ ...row, state: 'pending' })
      .onConflict('user_code_hash')
      .ignore()
      .returning('hash')
    return inserted.length > 0
  }

  /** Decides about a device that waits. Of several decisions one counts; false for the others. */
  static async decide(db: Db, hash: string, { state, now }: { state: 'approved' | 'denied'; now: number }): Promise<boolean> {
    const waiting = rowsOf(DeviceCode, db).where({ hash, state: 'pending' }).where('expires_at', '>', now)
    return (await waiting.update({ state })) > 0
  }

  /** Notes that a device that waits has asked. False if it does not wait, or has asked since `latest`. */
  static async notePoll(
    db: Db,
    of: Pick<DeviceCode, 'hash' | 'app_id'>,
    { now, latest }: { now: number; latest: number },
  ): Promise<boolean> {
    const due = rowsOf(DeviceCode, db)
      .where({ ...of, state: 'pending' })
      .where('expires_at', '>', now)
      .where((any) => any.whereNull('polled_at').orWhere('polled_at', '<=', latest))
    return (await due.update({ polled_at: now })) > 0
  }
}

/** A row without what the model adds. */
export type DeviceCodeRow = Pick<DeviceCode, Exclude<keyof DeviceCode, keyof BaseModel>>
