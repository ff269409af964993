import type { MadeBy } from '../lib/account-record.ts'
import { BaseModel } from './base-model.ts'
import { UserApp } from './user-app.ts'
import { UserNamespace } from './user-namespace.ts'
import { UserRole } from './user-role.ts'

/** A user (contract 2.3). `namespace` is the home pool. */
export class User extends BaseModel {
  static override tableName = 'users'
  static override relationMappings = () => ({
    tags: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserNamespace,
      join: { from: 'users.id', to: 'user_namespaces.user_id' },
    },
    grants: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserApp,
      join: { from: 'users.id', to: 'user_apps.user_id' },
    },
    roles: {
      relation: BaseModel.HasManyRelation,
      modelClass: UserRole,
      join: { from: 'users.id', to: 'user_roles.user_id' },
    },
  })

  declare id: string
  declare email: string
  declare email_verified_at: number | null
  declare first_verified_at: number | null
  declare made_by: MadeBy
  declare password_hash: string | null
  declare first_name: string | null
  declare last_name: string | null
  declare namespace: string
  declare status: 'active' | 'suspended' | 'deleted'
  declare token_version: number
  declare min_token_version: number
  declare deleted_at: number | null
  declare created_at: number
  declare updated_at: number
  declare tags?: UserNamespace[]
  declare grants?: UserApp[]
}
