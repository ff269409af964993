import type { Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

export type OrganizationRow = Pick<Organization, 'id' | 'slug' | 'name' | 'created_at' | 'updated_at'>

export class Organization extends BaseModel {
  static override tableName = 'organizations'

  declare id: string
  declare slug: string
  declare name: string
  declare created_at: number
  declare updated_at: number

  /** Keeps the organization from being deleted until the transaction ends. False if it does not exist. */
  static async keep(db: Tx, id: string): Promise<boolean> {
    return (await rowsOf(Organization, db).where({ id }).forKeyShare().first('id')) !== undefined
  }

  /** False if the slug is taken. This does not throw, since an error would end the transaction. */
  static async add(db: Tx, row: OrganizationRow): Promise<boolean> {
    return (await rowsOf(Organization, db).insert(row).onConflict('slug').ignore().returning('id')).length > 0
  }
}
