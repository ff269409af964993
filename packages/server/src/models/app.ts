import type { Db, Tx } from '../db/handle.ts'
import { keptFromDeletion } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

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

  static async findById(db: Db, id: string): Promise<App | undefined> {
    return App.query(db).findById(id)
  }

  static async find(
    db: Db,
    by: { id: string } | { code: string } | { id: string; status: App['status'] },
  ): Promise<App | undefined> {
    return App.query(db).findOne(by)
  }

  static async findId(db: Db, code: string): Promise<string | undefined> {
    return (await App.query(db).findOne({ code }).select('id'))?.id
  }

  /** What the apps name as pools, in no order. */
  static async listPools(db: Db): Promise<Pick<App, 'id' | 'code' | 'registration_namespace' | 'read_namespaces'>[]> {
    return App.query(db).select('id', 'code', 'registration_namespace', 'read_namespaces')
  }

  /** Those of the codes, by id. */
  static async listLinkable(db: Db, codes: readonly string[]): Promise<LinkableApp[]> {
    return App.query(db).whereIn('code', codes).orderBy('id').select('id', 'code', 'auto_grant_on_signup', 'built_in')
  }

  /** Those that have one of the ids or codes, by id, kept from being deleted until the transaction ends. */
  static async listKept(db: Tx, ids: readonly string[], codes: readonly string[]): Promise<Pick<App, 'id' | 'code'>[]> {
    const named = rowsOf(App, db).where((any) => any.whereIn('id', ids).orWhereIn('code', codes))
    return keptFromDeletion(db, named.orderBy('id').select('id', 'code'))
  }

  /** The ids of those that are active. */
  static async listActiveIds(db: Db, ids: readonly string[]): Promise<string[]> {
    return ids.length === 0 ? [] : rowsOf(App, db).whereIn('id', ids).where({ status: 'active' }).pluck('id')
  }
}

/** What a login looks at before it links one. */
export type LinkableApp = Pick<App, 'id' | 'code' | 'auto_grant_on_signup' | 'built_in'>
