import { BaseModel } from './base-model.ts'

export type ServiceScope = 'permissions:register' | 'users:register_or_return'

/** A service account (decisions 3): what a backend service calls with instead of a user's token. */
export class ServiceAccount extends BaseModel {
  static override tableName = 'service_accounts'
  static override jsonAttributes = ['scopes', 'app_codes']

  declare id: string
  declare name: string
  /** The one service whose permissions it may register. */
  declare service: string
  declare scopes: ServiceScope[]
  /** The apps it may act for; an empty list restricts nothing. */
  declare app_codes: string[]
  declare token_hash: string
  declare expires_at: number | null
  declare last_used_at: number | null
  declare created_at: number
  declare updated_at: number
}
