import type { Db } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { BaseModel, rowsOf } from './base-model.ts'

const bySecret = new Statement<Pick<ClientSecret, 'id' | 'last_used_at'>>(
  'select id, last_used_at from client_secrets where app_id = :appId and hash = :hash',
)

/** A secret with which an app authenticates at the token endpoint. */
export class ClientSecret extends BaseModel {
  static override tableName = 'client_secrets'

  declare id: string
  declare app_id: string
  declare hash: string
  declare created_at: number
  declare last_used_at: number | null

  static async findBySecret(
    db: Db,
    of: { appId: string; hash: string },
  ): Promise<Pick<ClientSecret, 'id' | 'last_used_at'> | undefined> {
    return bySecret.first(db, of)
  }

  /** Notes a use unless one since `latest` is noted. Of concurrent calls one writes. */
  static async noteUse(db: Db, id: string, { now, latest }: { now: number; latest: number }): Promise<void> {
    await rowsOf(ClientSecret, db)
      .where({ id })
      .where((any) => any.whereNull('last_used_at').orWhere('last_used_at', '<=', latest))
      .update({ last_used_at: now })
  }
}
