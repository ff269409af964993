import { BaseModel } from './base-model.ts'

/** A pool tag (contract 2.4): one of a user's pools besides the home pool. */
export class UserNamespace extends BaseModel {
  static override tableName = 'user_namespaces'
  static override idColumn = ['user_id', 'namespace']

  declare user_id: string
  declare namespace: string
  declare created_at: number
}
