import type { QueryBuilder } from 'objection'
import type { Db, Tx } from '../db/handle.ts'
import { forShare, forUpdate } from '../db/locks.ts'
import type { ServiceScope } from '../lib/authority.ts'
import { App } from './app.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { Permission } from './permission.ts'

/** What is read to authenticate a bearer token. */
export interface AccountRow {
  id: string
  service: string
  scopes: string
  expires_at: number | null
  last_used_at: number | null
  app_codes: string | null
}

const appCodes = `(select string_agg(a.code, ' ') from service_account_apps l join apps a on a.id = l.app_id
  where l.service_account_id = service_accounts.id) as app_codes`

/** A service account, which a backend service calls with instead of a user's token. */
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
    permissions: {
      relation: BaseModel.ManyToManyRelation,
      modelClass: Permission,
      join: {
        from: 'service_accounts.id',
        through: { from: 'service_account_permissions.service_account_id', to: 'service_account_permissions.permission_id' },
        to: 'permissions.id',
      },
      modify: (permissions: QueryBuilder<Permission>) =>
        permissions.whereNull('permissions.pruned_at').select('permissions.code').orderBy('permissions.code'),
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
  /** `tv` of its machine tokens. It only increases, and tokens with a lower one are dead. */
  declare token_version: number
  declare created_at: number
  declare updated_at: number
  /** The apps that its scopes hold for. Every read of an account includes them. */
  declare apps: Pick<App, 'code'>[]
  /** The permissions that are not pruned. Every read of an account includes them. */
  declare permissions: Pick<Permission, 'code'>[]

  static async findByToken(db: Db, hash: string): Promise<AccountRow | undefined> {
    return rowsOf(ServiceAccount, db)
      .where({ token_hash: hash })
      .first<AccountRow | undefined>('id', 'service', 'scopes', 'expires_at', 'last_used_at', db.raw(appCodes))
  }

  /** Accounts with their apps and permissions. */
  static full(db: Db) {
    return ServiceAccount.query(db).withGraphFetched('[apps, permissions]')
  }

  /**
   * Finds an account like `full`, and locks it until the transaction ends: `shared` with other readers, or `exclusive` to change
   * it.
   */
  static async findLocked(db: Tx, id: string, lock: 'shared' | 'exclusive'): Promise<ServiceAccount | undefined> {
    const row = rowsOf(ServiceAccount, db).where({ id }).first('id')
    // Read the relations once the lock is held, so that they include a change that the lock waited for.
    const locked = await (lock === 'shared' ? forShare(db, row) : forUpdate(db, row))
    return locked && ServiceAccount.full(db).findById(id)
  }

  /** Raises the counter of its machine tokens and returns it; undefined if the account does not exist. */
  static async raiseTokenVersion(db: Tx, id: string): Promise<number | undefined> {
    const raised = { token_version: db.raw('token_version + 1') }
    const [row] = await rowsOf(ServiceAccount, db).where({ id }).update(raised).returning('token_version')
    return row?.token_version
  }
}

/** An app that the scopes of a service account hold for. */
export class ServiceAccountApp extends BaseModel {
  static override tableName = 'service_account_apps'
  static override idColumn = ['service_account_id', 'app_id']

  declare service_account_id: string
  declare app_id: string
}

/** A permission that the machine tokens of a service account carry, at apps whose services declare it. */
export class ServiceAccountPermission extends BaseModel {
  static override tableName = 'service_account_permissions'
  static override idColumn = ['service_account_id', 'permission_id']

  declare service_account_id: string
  declare permission_id: string
  declare created_at: number

  /** The codes of the account's permissions that are not pruned and belong to one of the services. */
  static async listCodes(db: Db, accountId: string, services: readonly string[]): Promise<string[]> {
    return db('service_account_permissions as g')
      .join('permissions as p', 'p.id', 'g.permission_id')
      .where('g.service_account_id', accountId)
      .whereNull('p.pruned_at')
      .whereIn('p.service', [...services])
      .pluck('p.code')
  }
}
