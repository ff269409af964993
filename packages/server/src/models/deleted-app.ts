import type { Db } from '../db/handle.ts'
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

  /** Those of the ids that are apps deleted after `since`. */
  static async listIds(db: Db, ids: readonly string[], since: number): Promise<string[]> {
    return ids.length === 0
      ? []
      : rowsOf(DeletedApp, db).whereIn('app_id', ids).andWhere('deleted_at', '>', since).pluck('app_id')
  }
}
