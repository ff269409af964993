import type { Db, Tx } from '../db/handle.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { whereFound, withPage } from './list-query.ts'

export type OrganizationRow = Pick<Organization, 'id' | 'slug' | 'name' | 'created_at' | 'updated_at'>

export class Organization extends BaseModel {
  static override tableName = 'organizations'

  declare id: string
  declare slug: string
  declare name: string
  declare created_at: number
  declare updated_at: number

  static async exists(db: Db, id: string): Promise<boolean> {
    return (await Organization.query(db).findById(id).select('id')) !== undefined
  }

  /** Keeps the organization from being deleted until the transaction ends. False if it does not exist. */
  static async keep(db: Tx, id: string): Promise<boolean> {
    return (await rowsOf(Organization, db).where({ id }).forKeyShare().first('id')) !== undefined
  }

  /** False if the slug is taken. This does not throw, since an error would end the transaction. */
  static async add(db: Tx, row: OrganizationRow): Promise<boolean> {
    return (await rowsOf(Organization, db).insert(row).onConflict('slug').ignore().returning('id')).length > 0
  }

  static async delete(db: Tx, id: string): Promise<void> {
    await rowsOf(Organization, db).where({ id }).delete()
  }

  /** Newest first; `q` is looked for in slug and name. */
  static async listPage(db: Db, request: PageRequest & { q?: string | undefined }): Promise<Page<Organization>> {
    const query = Organization.query(db)
    if (request.q) await whereFound(query, { table: 'organizations', columns: ['slug', 'name'] }, request.q)
    return withPage(query, request, 'organizations.id')
  }
}
