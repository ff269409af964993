import type { Db, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** An org-scoped role that a member holds in one organization. */
export class MembershipRole extends BaseModel {
  static override tableName = 'membership_roles'
  static override idColumn = ['membership_id', 'role_code']

  declare membership_id: string
  declare role_code: string

  static async insert(db: Tx, membershipId: string, roleCodes: readonly string[]): Promise<void> {
    if (roleCodes.length === 0) return
    await rowsOf(MembershipRole, db).insert(roleCodes.map((role_code) => ({ membership_id: membershipId, role_code })))
  }

  /** The codes of the roles of a member, by name. */
  static async listCodes(db: Db, membershipId: string): Promise<string[]> {
    return rowsOf(MembershipRole, db).where({ membership_id: membershipId }).orderBy('role_code').pluck('role_code')
  }

  static async deleteOfMembership(db: Tx, membershipId: string): Promise<void> {
    await rowsOf(MembershipRole, db).where({ membership_id: membershipId }).delete()
  }

  static async deleteOfRole(db: Tx, roleCode: string): Promise<void> {
    await rowsOf(MembershipRole, db).where({ role_code: roleCode }).delete()
  }

  /** Whether a user who is not deleted holds the role in an organization. */
  static async hasHolder(db: Db, roleCode: string): Promise<boolean> {
    const member = await db('membership_roles as r')
      .join('organization_memberships as m', 'm.id', 'r.membership_id')
      .join('users as u', 'u.id', 'm.user_id')
      .where('r.role_code', roleCode)
      .whereNot('u.status', 'deleted')
      .first('u.id')
    return member !== undefined
  }
}
