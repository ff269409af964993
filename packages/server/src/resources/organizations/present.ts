import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { OrganizationRow } from '../../models/organization.ts'
import { type PooledUser, presentUser } from '../users/present.ts'
import type { fellowMemberRecord, memberRecord, organizationDetail } from './schema.ts'

export function presentOrganization(organization: OrganizationRow): z.output<typeof organizationDetail> {
  return {
    id: organization.id,
    slug: organization.slug,
    name: organization.name,
    created_at: iso(organization.created_at),
    updated_at: iso(organization.updated_at),
  }
}

export interface Member {
  user: PooledUser
  roleCodes: readonly string[]
  /** Milliseconds. */
  joinedAt: number
}

/** A member as the admin API shows one. */
export function presentMember(member: Member): z.output<typeof memberRecord> {
  return { ...presentUser(member.user), role_codes: [...member.roleCodes].sort(), joined_at: iso(member.joinedAt) }
}

/** A member as the org_admins of the organization see one: pools and state of the account are none of their business. */
export function presentFellowMember({ user, roleCodes }: Member): z.output<typeof fellowMemberRecord> {
  const { id, email, first_name, last_name } = user
  return { id, email, first_name, last_name, role_codes: [...roleCodes].sort() }
}
