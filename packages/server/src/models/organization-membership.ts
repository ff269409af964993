import { BaseModel } from './base-model.ts'
import { MembershipRole } from './membership-role.ts'
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
}
