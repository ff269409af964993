import { insertRows } from '../db/bulk.ts'
import type { Db, Tx } from '../db/handle.ts'
import { BaseModel } from './base-model.ts'

/** A column of a statement over `users u`: the codes of a user's global roles as one text. */
export const globalRolesColumn = `(select string_agg(role_code, ' ') from user_roles where user_id = u.id) as global_roles`

export type UserRoleRow = Pick<UserRole, 'user_id' | 'role_code' | 'created_at'>

/** A global role that a user holds. */
export class UserRole extends BaseModel {
  static override tableName = 'user_roles'
  static override idColumn = ['user_id', 'role_code']

  declare user_id: string
  declare role_code: string
  declare created_at: number

  /** Inserts any number of roles. */
  static async insertBulk(db: Tx, rows: readonly UserRoleRow[]): Promise<void> {
    await insertRows(db, UserRole.tableName, rows)
  }

  /** Whether a user of one of the statuses holds the role. */
  static async isHeld(db: Db, roleCode: string, by: readonly ('active' | 'suspended')[]): Promise<boolean> {
    const holder = await db('user_roles as r')
      .join('users as u', 'u.id', 'r.user_id')
      .where('r.role_code', roleCode)
      .whereIn('u.status', by)
      .first('u.id')
    return holder !== undefined
  }
}
