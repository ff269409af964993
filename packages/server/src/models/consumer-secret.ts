import type { Db } from '../db/handle.ts'
import type { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { serviceIdColumn } from './service.ts'

/** A set of secrets that a consumer of an app accepts: their key ids, sorted and joined by commas. */
export class ConsumerSecret extends BaseModel {
  static override tableName = 'consumer_secrets'
  static override idColumn = ['app_id', 'kids']

  declare app_id: string
  declare kids: string
  declare last_seen_at: number

  /** The app with this code, and when a consumer of it with this set was last seen. */
  static async findApp(
    db: Db,
    code: string,
    kids: string,
  ): Promise<
    | (Pick<App, 'id' | 'status' | 'permission_scope' | 'signing'> & { last_seen_at: number | null; service_id: string })
    | undefined
  > {
    return db('apps as a')
      .leftJoin('consumer_secrets as c', (on) => on.on('c.app_id', 'a.id').andOnVal('c.kids', kids))
      .where('a.code', code)
      .first('a.id', 'a.status', 'a.permission_scope', 'a.signing', 'c.last_seen_at', db.raw(serviceIdColumn))
  }

  /** Notes a set as seen now, unless it was since `latest`. Of concurrent callers, also on other servers, one writes. */
  static async note(
    db: Db,
    set: Pick<ConsumerSecret, 'app_id' | 'kids'>,
    { now, latest }: { now: number; latest: number },
  ): Promise<void> {
    await rowsOf(ConsumerSecret, db)
      .insert({ ...set, last_seen_at: now })
      .onConflict(['app_id', 'kids'])
      .merge({ last_seen_at: now })
      .where('consumer_secrets.last_seen_at', '<=', latest)
  }

  /** All sets, sorted by the code of their app. */
  static async listByApp(db: Db): Promise<{ code: string; signing: App['signing']; kids: string; last_seen_at: number }[]> {
    return db('consumer_secrets as c')
      .join('apps as a', 'a.id', 'c.app_id')
      .orderBy('a.code')
      .select('a.code', 'a.signing', 'c.kids', 'c.last_seen_at')
  }
}
