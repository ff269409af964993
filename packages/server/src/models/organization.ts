import type { Db } from '../db/handle.ts'
import { BaseModel } from './base-model.ts'

/** An organization (contract 2.7). */
export class Organization extends BaseModel {
  static override tableName = 'organizations'

  declare id: string
  declare slug: string
  declare name: string
  declare created_at: number
  declare updated_at: number

  static async findById(db: Db, id: string): Promise<Organization | undefined> {
    return Organization.query(db).findById(id)
  }
}
