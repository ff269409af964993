import type { Db, Tx } from '../db/handle.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { withPage } from './list-query.ts'
import { User } from './user.ts'

/** A member with this role governs the organization. */
export const ADMIN_ROLE = 'org_admin'

/** One user in one organization. */
export interface MembershipKey {
  organizationId: string
  userId: string
}

/** What a statement over a membership `m` and its organization `o` reads of them. Null where the user is no member. */
export interface MembershipColumns {
  organization_id: string | null
  organization_slug: string
  organization_name: string
  organization_roles: string | null
}
export const membershipColumns = `o.id as organization_id, o.slug as organization_slug, o.name as organization_name,
  (select string_agg(role_code, ' ') from membership_roles where membership_id = m.id) as organization_roles`

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
  /** Present in the result of `listMembers`. */
  declare user: User
  /** Present in the result of `listMembers`. */
  declare roles: MembershipRole[]

  /** False if the user is a member already. */
  static async add(
    db: Tx,
    row: Pick<OrganizationMembership, 'id' | 'organization_id' | 'user_id' | 'created_at'>,
  ): Promise<boolean> {
    const inserted = await rowsOf(OrganizationMembership, db)
      .insert(row)
      .onConflict(['organization_id', 'user_id'])
      .ignore()
      .returning('id')
    return inserted.length > 0
  }

  /** Whether the user is a member and not deleted. */
  static async isMember(db: Db, { organizationId, userId }: MembershipKey): Promise<boolean> {
    const member = await OrganizationMembership.#members(db, organizationId).where('m.user_id', userId).first('m.id')
    return member !== undefined
  }

  /** Whether the organization has a member besides this one. */
  static async hasOtherMember(db: Db, { organizationId, userId }: MembershipKey): Promise<boolean> {
    const other = await OrganizationMembership.#members(db, organizationId).whereNot('m.user_id', userId).first('m.id')
    return other !== undefined
  }

  static async isAdmin(db: Db, { organizationId, userId }: MembershipKey): Promise<boolean> {
    const held = await OrganizationMembership.#admins(db, organizationId).where('m.user_id', userId).first('m.id')
    return held !== undefined
  }

  /** Whether an active user besides this one governs the organization. */
  static async hasOtherAdmin(db: Db, { organizationId, userId }: MembershipKey): Promise<boolean> {
    const other = await OrganizationMembership.#admins(db, organizationId)
      .join('users as u', 'u.id', 'm.user_id')
      .where('u.status', 'active')
      .whereNot('m.user_id', userId)
      .first('m.id')
    return other !== undefined
  }

  /** The members of an organization, newest first, without deleted users. */
  static async listMembers(db: Db, organizationId: string, request: PageRequest): Promise<Page<OrganizationMembership>> {
    const query = OrganizationMembership.query(db)
      .joinRelated('user')
      .where('organization_memberships.organization_id', organizationId)
      .whereNot('user.status', 'deleted')
      .select('organization_memberships.*')
      .withGraphFetched('[user.tags, roles]')
    return withPage(query, request, 'organization_memberships.id')
  }

  static #members(db: Db, organizationId: string) {
    return db('organization_memberships as m')
      .join('users as u', 'u.id', 'm.user_id')
      .where('m.organization_id', organizationId)
      .whereNot('u.status', 'deleted')
  }

  static #admins(db: Db, organizationId: string) {
    return db('organization_memberships as m')
      .join('membership_roles as r', 'r.membership_id', 'm.id')
      .where({ 'm.organization_id': organizationId, 'r.role_code': ADMIN_ROLE })
  }
}

/** An org-scoped role that a member holds in one organization. */
export class MembershipRole extends BaseModel {
  static override tableName = 'membership_roles'
  static override idColumn = ['membership_id', 'role_code']

  declare membership_id: string
  declare role_code: string

  static async assign(db: Tx, membershipId: string, roleCodes: readonly string[]): Promise<void> {
    if (roleCodes.length === 0) return
    await rowsOf(MembershipRole, db).insert(roleCodes.map((role_code) => ({ membership_id: membershipId, role_code })))
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
