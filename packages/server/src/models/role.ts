import type { Db, Tx } from '../db/handle.ts'
import { keptFromDeletion } from '../db/locks.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A role (contract 2.7); `code` never changes and is the key. */
export class Role extends BaseModel {
  static override tableName = 'roles'
  static override idColumn = 'code'
  static override booleanColumns = ['built_in']

  declare code: string
  declare name: string
  declare scope: 'global' | 'org'
  declare description: string | null
  declare built_in: boolean
  declare created_at: number
  declare updated_at: number

  /** Those of the codes, kept from being deleted until the transaction ends. */
  static async listKept(db: Tx, codes: readonly string[]): Promise<Pick<Role, 'code' | 'scope'>[]> {
    return Role.#kept(db, codes)
  }

  /** The same, locked in the order of the codes. */
  static async listKeptInOrder(db: Tx, codes: readonly string[]): Promise<Pick<Role, 'code' | 'scope'>[]> {
    return Role.#kept(db, codes).orderBy('code')
  }

  static async isOrganizationRole(db: Db, code: string): Promise<boolean> {
    return (await rowsOf(Role, db).where({ code, scope: 'org' }).first('code')) !== undefined
  }

  static #kept(db: Tx, codes: readonly string[]) {
    return keptFromDeletion(db, rowsOf(Role, db).whereIn('code', codes).select('code', 'scope'))
  }
}
