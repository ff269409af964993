import type { PartialModelObject } from 'objection'
import type { Db, Tx } from '../db/handle.ts'
import { forUpdate, keptFromDeletion } from '../db/locks.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { withPage } from './list-query.ts'

/** An OpenID Connect provider that users may log in with. */
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
  /** The apps that its users may log in to; `*` is every app. */
  declare app_codes: string[]
  /** The domains for which it may vouch that an address is verified. `*` is every domain. */
  declare trusted_email_domains: string[]
  declare enabled: boolean
  /** Whether a sign-in there is enough for apps that demand a second factor, of users who have none here. */
  declare trusted_for_two_factor: boolean
  declare created_at: number
  declare updated_at: number

  static async find(db: Db, id: string): Promise<SsoProvider | undefined> {
    return SsoProvider.query(db).findById(id)
  }

  /** Finds the provider. Until the transaction ends, `findByCodeForUpdate` waits, so nothing changes or deletes it. */
  static async findKept(db: Tx, id: string): Promise<SsoProvider | undefined> {
    return keptFromDeletion(db, SsoProvider.query(db).findById(id))
  }

  static async findByCode(db: Db, code: string): Promise<SsoProvider | undefined> {
    return SsoProvider.query(db).findOne({ code })
  }

  /** Finds the provider and locks it until the transaction ends. No user is linked with it meanwhile. */
  static async findByCodeForUpdate(db: Tx, code: string): Promise<SsoProvider | undefined> {
    return forUpdate(db, SsoProvider.query(db).findOne({ code }))
  }

  static async insert(db: Tx, row: PartialModelObject<SsoProvider>): Promise<SsoProvider> {
    return SsoProvider.query(db).insertAndFetch(row)
  }

  static async update(db: Tx, id: string, changes: PartialModelObject<SsoProvider>): Promise<SsoProvider> {
    return SsoProvider.query(db).patchAndFetchById(id, changes)
  }

  static async delete(db: Tx, id: string): Promise<void> {
    await SsoProvider.query(db).deleteById(id)
  }

  /** Newest first. */
  static async listPage(db: Db, request: PageRequest): Promise<Page<SsoProvider>> {
    return withPage(SsoProvider.query(db), request, 'sso_providers.id')
  }

  static async listEnabled(db: Db): Promise<SsoProvider[]> {
    return SsoProvider.query(db).where({ enabled: 1 }).orderBy('code')
  }

  static async listSecretBoxes(db: Db): Promise<Pick<SsoProvider, 'client_secret_box'>[]> {
    return SsoProvider.query(db).select('client_secret_box')
  }

  /** The codes among these that a provider has. */
  static async listCodes(db: Db, codes: readonly string[]): Promise<string[]> {
    return codes.length === 0 ? [] : rowsOf(SsoProvider, db).whereIn('code', codes).pluck('code')
  }
}
