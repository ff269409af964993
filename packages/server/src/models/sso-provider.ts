import { BaseModel } from './base-model.ts'

/** An OpenID Connect provider that users may log in with (decisions 8). */
export class SsoProvider extends BaseModel {
  static override tableName = 'sso_providers'
  static override booleanColumns = ['enabled']
  static override jsonAttributes = ['scopes']

  declare id: string
  /** Never changes: apps, sessions and the provider's own redirect URI name it. */
  declare code: string
  declare issuer: string
  declare client_id: string
  /** Sealed for this row. */
  declare client_secret_box: string
  declare scopes: string[]
  declare enabled: boolean
  declare created_at: number
  declare updated_at: number
}
