import type { Db } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A secret with which an app authenticates at the token endpoint. */
export class ClientSecret extends BaseModel {
  static override tableName = 'client_secrets'

  declare id: string
  declare app_id: string
  declare hash: string
  declare created_at: number
  declare last_used_at: number | null

  /** Notes a use unless one since `latest` is noted. Of concurrent calls one writes. */
  static async noteUse(db: Db, id: string, { now, latest }: { now: number; latest: number }): Promise<void> {
    await rowsOf(ClientSecret, db)
      .where({ id })
      .where((any) => any.whereNull('last_used_at').orWhere('last_used_at', '<=', latest))
      .update({ last_used_at: now })
  }
}
