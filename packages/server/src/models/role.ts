import type { Db, Tx } from '../db/handle.ts'
import { keptFromDeletion } from '../db/locks.ts'
import type { Giver } from '../lib/authority.ts'
import { BaseModel, rowsOf } from './base-model.ts'

export type GivableRole = Pick<Role, 'code' | 'scope' | 'assignable_by'>

/** A role is named by its `code`, which never changes. */
export class Role extends BaseModel {
  static override tableName = 'roles'
  static override idColumn = 'code'
  static override booleanColumns = ['built_in']

  declare code: string
  declare name: string
  declare scope: 'global' | 'org'
  declare description: string | null
  declare built_in: boolean
  /** Who gives and takes an org-scoped role in an organization. */
  declare assignable_by: Giver
  declare created_at: number
  declare updated_at: number

  /** Lists the roles, and keeps them from being deleted until the transaction ends. Takes the locks in the order of the codes. */
  static async listKept(db: Tx, codes: readonly string[]): Promise<Pick<Role, 'code' | 'scope'>[]> {
    return keptFromDeletion(db, rowsOf(Role, db).whereIn('code', codes).orderBy('code').select('code', 'scope'))
  }

  /** How many users hold each of these roles, not counting deleted ones. Leaves out roles without a holder. */
  static async countHolders(db: Db, codes: readonly string[]): Promise<{ role_code: string; n: number }[]> {
    const counted: { role_code: string; n: number | string }[] = await Role.#holders(db, codes)
      .groupBy('role_code')
      .select('role_code')
      .count({ n: '*' })
    return counted.map(({ role_code, n }) => ({ role_code, n: Number(n) }))
  }

  /** How many users hold any of these roles, not counting deleted ones. */
  static async countAllHolders(db: Db, codes: readonly string[]): Promise<number> {
    const [counted] = await Role.#holders(db, codes).countDistinct({ n: 'users.id' })
    return Number(counted?.n)
  }

  /** One row per role and user, however many organizations the user holds it in. */
  static #holders(db: Db, codes: readonly string[]) {
    const global = db('user_roles').whereIn('role_code', codes).select('role_code', 'user_id')
    const inOrganizations = db('membership_roles as r')
      .join('organization_memberships as m', 'm.id', 'r.membership_id')
      .whereIn('r.role_code', codes)
      .select('r.role_code', 'm.user_id')
    return db(global.union(inOrganizations).as('holders'))
      .join('users', 'users.id', 'holders.user_id')
      .whereNot('users.status', 'deleted')
  }
}

/** A permission that a role holds. */
export class RolePermission extends BaseModel {
  static override tableName = 'role_permissions'
  static override idColumn = ['role_code', 'permission_id']

  declare role_code: string
  declare permission_id: string
  declare created_at: number
}
