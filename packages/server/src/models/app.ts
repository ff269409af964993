import { BaseModel } from './base-model.ts'

/** An element of `webhooks` as stored (contract 2.2); `secret_box` is the sealed signing secret. */
export interface StoredWebhook {
  name: string
  url: string
  events: string[]
  enabled: boolean
  secret_box: string | null
}

/** An app (contract 2.1, decisions 3). */
export class App extends BaseModel {
  static override tableName = 'apps'
  static override jsonAttributes = [
    'allowed_redirect_urls',
    'service_codes',
    'read_namespaces',
    'linked_app_codes',
    'override_role_codes',
    'allowed_email_domains',
    'allowed_auth_methods',
    'webhooks',
  ]
  static override booleanColumns = ['auto_grant_on_signup', 'built_in']

  declare id: string
  declare code: string
  declare name: string
  declare description: string | null
  declare status: 'active' | 'inactive'
  declare built_in: boolean
  declare allowed_redirect_urls: string[]
  declare service_codes: string[]
  declare auto_grant_on_signup: boolean
  declare registration_namespace: string
  declare read_namespaces: string[]
  declare default_organization_id: string | null
  declare default_role_code: string | null
  declare linked_app_codes: string[]
  declare override_role_codes: string[]
  declare frontend_url: string | null
  declare allowed_email_domains: string[]
  declare allowed_auth_methods: string[]
  declare webhooks: StoredWebhook[]
  declare permission_scope: 'services' | 'roles'
  declare sign_up: 'open' | 'invitation' | 'closed'
  declare created_at: number
  declare updated_at: number
}
