import { BaseModel } from './base-model.ts'

/** An OpenID Connect provider that users may sign in with. */
export class SsoProvider extends BaseModel {
  static override tableName = 'sso_providers'
  static override booleanColumns = ['enabled', 'trusted_for_two_factor']
  static override jsonAttributes = ['scopes', 'app_codes', 'trusted_email_domains']

  declare id: string
  /** Never changes: apps, sessions and the provider's own redirect URI name it. */
  declare code: string
  declare issuer: string
  declare client_id: string
  /** Sealed for this row. */
  declare client_secret_box: string
  declare scopes: string[]
  /** The apps that its users may sign in to; `*` is every app. */
  declare app_codes: string[]
  /** The domains for which it may vouch that an address is verified. `*` is every domain. */
  declare trusted_email_domains: string[]
  declare enabled: boolean
  /** Whether a sign-in there is enough for apps that demand a second factor, of users who have none here. */
  declare trusted_for_two_factor: boolean
  declare created_at: number
  declare updated_at: number
}
