import type { Db, Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/chunks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A permission that the machine tokens of a service account carry, at apps whose services declare it. */
export class ServiceAccountPermission extends BaseModel {
  static override tableName = 'service_account_permissions'
  static override idColumn = ['service_account_id', 'permission_id']

  declare service_account_id: string
  declare permission_id: string
  declare created_at: number

  /** Returns how many the account did not have before. */
  static async insert(db: Tx, accountId: string, permissionIds: readonly string[], now: number): Promise<number> {
    let inserted = 0
    for (const chunk of chunksOf(permissionIds)) {
      const rows = chunk.map((permission_id) => ({ service_account_id: accountId, permission_id, created_at: now }))
      const insert = rowsOf(ServiceAccountPermission, db).insert(rows).onConflict(['service_account_id', 'permission_id'])
      inserted += (await insert.ignore().returning('permission_id')).length
    }
    return inserted
  }

  /** Returns how many the account had. */
  static async delete(db: Tx, accountId: string, permissionIds: readonly string[]): Promise<number> {
    let deleted = 0
    for (const chunk of chunksOf(permissionIds)) {
      const held = rowsOf(ServiceAccountPermission, db).where({ service_account_id: accountId })
      deleted += await held.whereIn('permission_id', chunk).delete()
    }
    return deleted
  }

  /** The ids of all permissions of the account, pruned ones too. */
  static async listIds(db: Db, accountId: string): Promise<string[]> {
    return rowsOf(ServiceAccountPermission, db).where({ service_account_id: accountId }).pluck('permission_id')
  }

  /** The codes of the account's permissions that are not pruned and belong to one of the services. */
  static async listCodes(db: Db, accountId: string, services: readonly string[]): Promise<string[]> {
    return db('service_account_permissions as g')
      .join('permissions as p', 'p.id', 'g.permission_id')
      .where('g.service_account_id', accountId)
      .whereNull('p.pruned_at')
      .whereIn('p.service', [...services])
      .pluck('p.code')
  }
}
