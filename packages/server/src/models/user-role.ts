import { BaseModel } from './base-model.ts'

/** A global role that a user holds (contract 2.7). */
export class UserRole extends BaseModel {
  static override tableName = 'user_roles'
  static override idColumn = ['user_id', 'role_code']

  declare user_id: string
  declare role_code: string
  declare created_at: number
}
