import type { QueryBuilder } from 'objection'
import type { Db, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import type { ServiceScope } from '../lib/authority.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { withPage } from './list-query.ts'
import { ServiceAccountApp } from './service-account-app.ts'

/** What authenticating a bearer reads. */
export interface AccountRow {
  id: string
  service: string
  scopes: string
  expires_at: number | null
  last_used_at: number | null
  app_codes: string | null
}

const accountByToken = new Statement<AccountRow>(`
  select s.id, s.service, s.scopes, s.expires_at, s.last_used_at,
    (select string_agg(a.code, ' ') from service_account_apps l join apps a on a.id = l.app_id
      where l.service_account_id = s.id) as app_codes
  from service_accounts s
  where s.token_hash = :hash`)

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
  /** The apps that its scopes hold for. Every read of an account includes them. */
  declare apps: Pick<App, 'code'>[]

  static async findByToken(db: Db, hash: string): Promise<AccountRow | undefined> {
    return accountByToken.first(db, { hash })
  }

  /** Notes a use unless one since `latest` is noted. Of concurrent calls one writes. */
  static async noteUse(db: Db, id: string, { now, latest }: { now: number; latest: number }): Promise<void> {
    await ServiceAccount.query(db)
      .where({ id })
      .where((any) => any.whereNull('last_used_at').orWhere('last_used_at', '<=', latest))
      .patch({ last_used_at: now })
  }

  static async find(db: Db, id: string): Promise<ServiceAccount | undefined> {
    return ServiceAccount.query(db).findById(id).withGraphFetched('apps')
  }

  /** The names of those of the ids that are there. */
  static async listNames(db: Db, ids: readonly string[]): Promise<Pick<ServiceAccount, 'id' | 'name'>[]> {
    return ids.length === 0 ? [] : rowsOf(ServiceAccount, db).whereIn('id', ids).select('id', 'name')
  }

  /** Those of the ids that are there, oldest first. */
  static async listByIds(db: Db, ids: readonly string[]): Promise<ServiceAccount[]> {
    return ServiceAccount.query(db)
      .findByIds([...ids])
      .withGraphFetched('apps')
      .orderBy('service_accounts.id')
  }

  /** Newest first. */
  static async listPage(db: Db, request: PageRequest & { service?: string | undefined }): Promise<Page<ServiceAccount>> {
    const query = ServiceAccount.query(db).withGraphFetched('apps')
    if (request.service !== undefined) query.where({ service: request.service })
    return withPage(query, request, 'service_accounts.id')
  }

  /** Inserts an account whose scopes hold for these apps. */
  static async insert(
    db: Tx,
    row: Pick<ServiceAccount, 'id' | 'name' | 'service' | 'scopes' | 'token_hash' | 'expires_at' | 'created_at' | 'updated_at'>,
    appIds: readonly string[],
  ): Promise<void> {
    await ServiceAccount.query(db).insert(row)
    await ServiceAccountApp.insert(db, row.id, appIds)
  }

  static async update(db: Tx, id: string, changes: Pick<ServiceAccount, 'token_hash' | 'updated_at'>): Promise<void> {
    await ServiceAccount.query(db).findById(id).patch(changes)
  }

  /** False if the account does not exist. */
  static async delete(db: Tx, id: string): Promise<boolean> {
    return (await ServiceAccount.query(db).deleteById(id)) > 0
  }
}
