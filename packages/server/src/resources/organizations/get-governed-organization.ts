import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Giver } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import type { OrganizationRow } from '../../models/organization.ts'
import { type MembershipKey, OrganizationMembership } from '../../models/organization-membership.ts'
import { takeAttempt } from '../rate-limits/take-attempt.ts'
import { getOrganization, lockOrganization, noMember } from './get-organization.ts'

/**
 * An organization, and the right by which the caller governs its members and invitations: as a `system_admin` through the admin
 * API, which has checked that, or as one of its own `org_admin`s.
 */
export interface Governed {
  organizationId: string
  by: Giver
}

/**
 * The organization, for a caller who may govern it. Reads the right of an org_admin from the database at each call, never from
 * the token. Throws `organization_admin_required` without that right, whether or not the organization exists. Throws `not_found`
 * for a system_admin.
 */
export async function getGovernedOrganization(deps: Deps, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  if (governed.by === 'org_admin' && !(await isOrgAdmin(deps, governed.organizationId, actor))) {
    throw new ApiError('organization_admin_required')
  }
  return getOrganization(deps, governed.organizationId)
}

/** Like `getGovernedOrganization`, but keeps the caller's right and the organization as they are until the transaction ends. */
export async function lockGovernedOrganization(deps: Deps<Tx>, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  await lockOrganization(deps, governed.organizationId)
  return getGovernedOrganization(deps, governed, actor)
}

/** How often an org_admin may write to members. The admin API has no such limit. */
const memberWrites = { count: 60, seconds: 60 }

/** Counts a write of an org_admin to members, outside of any transaction. Throws `rate_limited`. */
export async function limitMemberWrites(deps: Deps<Pool>, { by }: Governed, { caller }: Actor): Promise<void> {
  if (by === 'org_admin' && caller?.kind === 'user') await takeAttempt(deps, `member-writes:${caller.userId}`, memberWrites)
}

async function isOrgAdmin(deps: Deps, organizationId: string, { caller }: Actor): Promise<boolean> {
  return caller?.kind === 'user' && OrganizationMembership.isAdmin(deps.db, { organizationId, userId: caller.userId })
}

/** Throws `last_organization_admin` if this user is the only member who governs the organization. */
export async function assertOtherAdmin(deps: Deps, key: MembershipKey): Promise<void> {
  if (await OrganizationMembership.hasOtherAdmin(deps.db, key)) return
  throw new ApiError('last_organization_admin', { detail: 'Make another member org_admin first' })
}

/**
 * Throws `not_found` for a user who is not a member. An unknown id gets the same answer after the same work, so an org_admin
 * learns nothing about other users.
 */
export async function assertMember(deps: Deps, key: MembershipKey): Promise<void> {
  if (!(await OrganizationMembership.isMember(deps.db, key))) throw noMember()
}
