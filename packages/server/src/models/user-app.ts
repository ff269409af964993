import type { QueryBuilder } from 'objection'
import { App } from './app.ts'
import { BaseModel } from './base-model.ts'
import { User } from './user.ts'

export type GrantedVia = 'admin' | 'auto' | 'link' | 'invitation' | 'import'

/** Narrows a query of grants to those that open the app now: an expired one is no more active than a revoked one. */
export function whereActive(query: QueryBuilder<UserApp>, now: number): void {
  query
    .where('user_apps.status', 'active')
    .andWhere((any) => any.whereNull('user_apps.expires_at').orWhere('user_apps.expires_at', '>', now))
}

/** App access (contract 2.5): the row that lets a user enter an app. */
export class UserApp extends BaseModel {
  static override tableName = 'user_apps'
  static override relationMappings = () => ({
    app: { relation: BaseModel.BelongsToOneRelation, modelClass: App, join: { from: 'user_apps.app_id', to: 'apps.id' } },
    user: { relation: BaseModel.BelongsToOneRelation, modelClass: User, join: { from: 'user_apps.user_id', to: 'users.id' } },
  })

  declare id: string
  declare user_id: string
  declare app_id: string
  declare status: 'active' | 'revoked'
  declare granted_via: GrantedVia
  declare reason: string | null
  /** Access tokens of this app with a lower `tv` are dead. */
  declare min_token_version: number
  declare granted_at: number
  declare expires_at: number | null
  declare revoked_at: number | null
  declare app?: App
  declare user?: User
}
