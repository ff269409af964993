import type { Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** An app that the scopes of a service account hold for. */
export class ServiceAccountApp extends BaseModel {
  static override tableName = 'service_account_apps'
  static override idColumn = ['service_account_id', 'app_id']

  declare service_account_id: string
  declare app_id: string

  static async insert(db: Tx, accountId: string, appIds: readonly string[]): Promise<void> {
    if (appIds.length === 0) return
    await rowsOf(ServiceAccountApp, db).insert(appIds.map((app_id) => ({ service_account_id: accountId, app_id })))
  }
}
