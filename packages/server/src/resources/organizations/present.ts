import type { z } from 'zod'
import { unprovenWarnings } from '../../lib/account-record.ts'
import { iso } from '../../lib/timestamps.ts'
import type { OrganizationRow } from '../../models/organization.ts'
import { type PooledUser, presentUser } from '../users/present.ts'
import type { fellowMemberRecord, memberRecord, organizationDetail, putMemberRecord } from './schema.ts'

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

/** A member in the answer to the admin who put it. */
export function presentPutMember(member: Member): z.output<typeof putMemberRecord> {
  return { ...presentMember(member), ...unprovenWarnings(member.user) }
}

/** A member as the org_admins of the organization see one: without pools and without the state of the account. */
export function presentFellowMember({ user, roleCodes }: Member): z.output<typeof fellowMemberRecord> {
  const { id, email, first_name, last_name } = user
  return { id, email, first_name, last_name, role_codes: [...roleCodes].sort() }
}
