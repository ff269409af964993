import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { Organization } from '../../models/organization.ts'
import { type PooledUser, presentUser } from '../users/present.ts'
import type { memberRecord, organizationDetail } from './schema.ts'

export type OrganizationRow = Pick<Organization, 'id' | 'slug' | 'name' | 'created_at' | 'updated_at'>

export function presentOrganization(organization: OrganizationRow): z.output<typeof organizationDetail> {
  return {
    id: organization.id,
    slug: organization.slug,
    name: organization.name,
    created_at: iso(organization.created_at),
    updated_at: iso(organization.updated_at),
  }
}

/** `joinedAt` in milliseconds. */
export function presentMember(member: {
  user: PooledUser
  roleCodes: readonly string[]
  joinedAt: number
}): z.output<typeof memberRecord> {
  return { ...presentUser(member.user), role_codes: [...member.roleCodes].sort(), joined_at: iso(member.joinedAt) }
}
