import type { QueryBuilder } from 'objection'
import type { ServiceScope } from '../lib/authority.ts'
import { App } from './app.ts'
import { BaseModel } from './base-model.ts'

/** A service account: what a backend service calls with instead of a user's token. */
export class ServiceAccount extends BaseModel {
  static override tableName = 'service_accounts'
  static override jsonAttributes = ['scopes']
  static override relationMappings = () => ({
    apps: {
      relation: BaseModel.ManyToManyRelation,
      modelClass: App,
      join: {
        from: 'service_accounts.id',
        through: { from: 'service_account_apps.service_account_id', to: 'service_account_apps.app_id' },
        to: 'apps.id',
      },
      modify: (apps: QueryBuilder<App>) => apps.select('apps.code').orderBy('apps.code'),
    },
  })

  declare id: string
  declare name: string
  /** The one service whose permissions it may register. */
  declare service: string
  declare scopes: ServiceScope[]
  declare token_hash: string
  declare expires_at: number | null
  declare last_used_at: number | null
  declare created_at: number
  declare updated_at: number
  declare apps?: Pick<App, 'code'>[]
}

/** As the relation `apps` gives it: with the codes of the apps that its scopes hold for. */
export type ServiceAccountWithApps = ServiceAccount & Required<Pick<ServiceAccount, 'apps'>>
