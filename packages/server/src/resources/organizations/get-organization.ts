import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { Organization } from '../../models/organization.ts'
import { type MembershipKey, OrganizationMembership } from '../../models/organization-membership.ts'

/** Throws `not_found`. */
export async function getOrganization(deps: Deps, id: string): Promise<Organization> {
  const organization = await Organization.find(deps.db, id)
  if (!organization) throw new ApiError('not_found', { detail: 'No organization has this id' })
  return organization
}

/**
 * Makes other changes to this organization, its members and its invitations wait until this transaction ends. It does not lock
 * the row, since auto-provisioning refers to the row and must not wait. Lock the row of a user before this.
 */
export async function lockOrganization(deps: Deps<Tx>, id: string): Promise<void> {
  await lockUntilCommit(deps.db, 'organization', id)
}

/** Organizations, newest first; `q` searches slug and name. */
export async function listOrganizations(
  deps: Deps,
  request: PageRequest & { q?: string | undefined },
): Promise<Page<Organization>> {
  return Organization.listPage(deps.db, request)
}

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
