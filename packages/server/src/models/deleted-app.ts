import type { Db, Tx } from '../db/handle.ts'
import type { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A key that the app had. A null `secret_box` stands for the shared secret. */
export interface DeletedAppKey {
  version: number
  stage: 'next' | 'current' | 'previous'
  secret_box: string | null
}

/** The code of a deleted app, until another app takes it. */
export class DeletedApp extends BaseModel {
  static override tableName = 'deleted_apps'
  static override idColumn = 'code'

  declare code: string
  declare app_id: string
  declare deleted_at: number
  /** JSON: the `DeletedAppKey`s of an app that signed with its own keys. */
  declare keys: string

  /** Keeps what consumers of an app need for a while. Call it before the app is deleted, which also deletes its keys. */
  static async note(db: Tx, { code, id }: Pick<App, 'code' | 'id'>, now: number): Promise<void> {
    const keys: DeletedAppKey[] = await db('app_keys')
      .where({ app_id: id })
      .orderBy('version')
      .select('version', 'stage', 'secret_box')
    await rowsOf(DeletedApp, db)
      .insert({ code, app_id: id, deleted_at: now, keys: JSON.stringify(keys) })
      .onConflict('code')
      .merge()
  }

  /** The last app that had the code, if it was deleted after `since`. */
  static async findId(db: Db, code: string, since: number): Promise<string | undefined> {
    const deleted = await rowsOf(DeletedApp, db).where({ code }).andWhere('deleted_at', '>', since).first('app_id')
    return deleted?.app_id
  }

  /** The apps deleted after `since` that signed with their own keys. */
  static async listWithKeys(db: Db, since: number): Promise<Pick<DeletedApp, 'app_id' | 'code' | 'keys'>[]> {
    return rowsOf(DeletedApp, db).whereNot({ keys: '[]' }).andWhere('deleted_at', '>', since).select('app_id', 'code', 'keys')
  }

  /** Those of the ids that are apps deleted after `since`. */
  static async listIds(db: Db, ids: readonly string[], since: number): Promise<string[]> {
    return ids.length === 0
      ? []
      : rowsOf(DeletedApp, db).whereIn('app_id', ids).andWhere('deleted_at', '>', since).pluck('app_id')
  }

  /** Call it when an app takes the code. Returns whether a deleted app had it. */
  static async delete(db: Tx, code: string): Promise<boolean> {
    return (await rowsOf(DeletedApp, db).where({ code }).delete()) > 0
  }
}
