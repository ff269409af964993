import { BaseModel } from './base-model.ts'

/** An OpenID Connect provider that users may log in with (decisions 8). */
export class SsoProvider extends BaseModel {
  static override tableName = 'sso_providers'
  static override booleanColumns = ['enabled']
  static override jsonAttributes = ['scopes', 'app_codes', 'trusted_email_domains']

  declare id: string
  /** Never changes: apps, sessions and the provider's own redirect URI name it. */
  declare code: string
  declare issuer: string
  declare client_id: string
  /** Sealed for this row. */
  declare client_secret_box: string
  declare scopes: string[]
  /** The apps that its users may log in to; `*` is every app. */
  declare app_codes: string[]
  /** Where its word that an address is verified counts; `*` is every domain. */
  declare trusted_email_domains: string[]
  declare enabled: boolean
  declare created_at: number
  declare updated_at: number
}
