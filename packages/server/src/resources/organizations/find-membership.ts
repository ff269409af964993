import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { type MembershipKey, OrganizationMembership } from '../../models/organization-membership.ts'

export interface StoredMembership {
  id: string
  created_at: number
  roleCodes: string[]
}

/** One user's membership of one organization. */
export async function findMembership(deps: Deps, key: MembershipKey): Promise<StoredMembership | undefined> {
  const membership = await OrganizationMembership.find(deps.db, key)
  if (!membership) return undefined
  return { ...membership, roleCodes: await MembershipRole.listCodes(deps.db, membership.id) }
}

/** One user's membership. Throws `not_found`. */
export async function getMembership(deps: Deps, key: MembershipKey): Promise<StoredMembership> {
  const membership = await findMembership(deps, key)
  if (!membership) throw noMember()
  return membership
}

export function noMember(): ApiError {
  return new ApiError('not_found', { detail: 'The user is not a member of this organization' })
}
