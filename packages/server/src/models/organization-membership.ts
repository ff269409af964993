import type { Db, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { MembershipRole } from './membership-role.ts'
import type { Organization } from './organization.ts'
import { User } from './user.ts'

/** An organization membership (contract 2.7). */
export class OrganizationMembership extends BaseModel {
  static override tableName = 'organization_memberships'
  static override relationMappings = () => ({
    user: {
      relation: BaseModel.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'organization_memberships.user_id', to: 'users.id' },
    },
    roles: {
      relation: BaseModel.HasManyRelation,
      modelClass: MembershipRole,
      join: { from: 'organization_memberships.id', to: 'membership_roles.membership_id' },
    },
  })

  declare id: string
  declare organization_id: string
  declare user_id: string
  declare created_at: number
  declare user?: User
  declare roles?: MembershipRole[]

  /** The organizations of a user, by slug, with a row for each role held in them or one without; of one organization, or of all. */
  static async listOfUser(
    db: Db,
    userId: string,
    organizationId?: string,
  ): Promise<(Pick<Organization, 'id' | 'slug' | 'name'> & { role_code: string | null })[]> {
    const query = db('organization_memberships as m')
      .join('organizations as o', 'o.id', 'm.organization_id')
      .leftJoin('membership_roles as r', 'r.membership_id', 'm.id')
      .where('m.user_id', userId)
      .orderBy(['o.slug', 'r.role_code'])
      .select('o.id', 'o.slug', 'o.name', 'r.role_code')
    if (organizationId !== undefined) query.where('o.id', organizationId)
    return query
  }

  static async deleteOf(db: Tx, userId: string): Promise<void> {
    await rowsOf(OrganizationMembership, db).where({ user_id: userId }).delete()
  }
}
