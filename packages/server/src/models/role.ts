import { BaseModel } from './base-model.ts'

/** A role (contract 2.7); `code` never changes and is the key. */
export class Role extends BaseModel {
  static override tableName = 'roles'
  static override idColumn = 'code'
  static override booleanColumns = ['built_in']

  declare code: string
  declare name: string
  declare scope: 'global' | 'org'
  declare description: string | null
  declare built_in: boolean
  declare created_at: number
  declare updated_at: number
}
