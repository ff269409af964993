import type { Db, Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/chunks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A permission that a role holds. */
export class RolePermission extends BaseModel {
  static override tableName = 'role_permissions'
  static override idColumn = ['role_code', 'permission_id']

  declare role_code: string
  declare permission_id: string
  declare created_at: number

  /** Returns how many were not assigned before. */
  static async insert(
    db: Tx,
    rows: readonly Pick<RolePermission, 'role_code' | 'permission_id' | 'created_at'>[],
  ): Promise<number> {
    let inserted = 0
    for (const chunk of chunksOf(rows)) {
      const insert = rowsOf(RolePermission, db).insert(chunk).onConflict(['role_code', 'permission_id']).ignore()
      inserted += (await insert.returning('permission_id')).length
    }
    return inserted
  }

  /** Returns how many were assigned. */
  static async delete(db: Tx, roleCode: string, permissionIds: readonly string[]): Promise<number> {
    let deleted = 0
    for (const chunk of chunksOf(permissionIds)) {
      deleted += await rowsOf(RolePermission, db).where({ role_code: roleCode }).whereIn('permission_id', chunk).delete()
    }
    return deleted
  }

  /** The ids of the permissions that a role holds, pruned ones too. */
  static async listPermissionIds(db: Db, roleCode: string): Promise<string[]> {
    return rowsOf(RolePermission, db).where({ role_code: roleCode }).pluck('permission_id')
  }

  /** The roles that hold any of these permissions. */
  static async listOf(db: Db, permissionIds: readonly string[]): Promise<Pick<RolePermission, 'role_code' | 'permission_id'>[]> {
    const held: Pick<RolePermission, 'role_code' | 'permission_id'>[] = []
    for (const chunk of chunksOf(permissionIds)) {
      held.push(...(await rowsOf(RolePermission, db).whereIn('permission_id', chunk).select('role_code', 'permission_id')))
    }
    return held
  }
}
