import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { takeAttempt } from '../rate-limits/take-attempt.ts'
import { getOrganization, lockOrganization } from './get-organization.ts'
import type { OrganizationRow } from './present.ts'

export const ADMIN_ROLE = 'org_admin'

/**
 * An organization, and in which right somebody governs its members and invitations: as a `system_admin` who came through the admin
 * API, which has checked that, or as one of its own `org_admin`s.
 */
export interface Governed {
  organizationId: string
  by: 'system_admin' | 'org_admin'
}

/**
 * The organization, for somebody who may govern it. The right of an org_admin is read from the database at each call, never from the
 * token. Throws `organization_admin_required` for whoever has none, whether or not there is such an organization; to a system_admin
 * `not_found`.
 */
export async function getGovernedOrganization(deps: Deps, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  if (governed.by === 'org_admin' && !(await isOrgAdmin(deps, governed.organizationId, actor))) {
    throw new ApiError('organization_admin_required')
  }
  return getOrganization(deps, governed.organizationId)
}

/** The same, with the right and the organization standing as they are until the transaction ends. */
export async function lockGovernedOrganization(deps: Deps<Tx>, governed: Governed, actor: Actor): Promise<OrganizationRow> {
  await lockOrganization(deps, governed.organizationId)
  return getGovernedOrganization(deps, governed, actor)
}

/** An org_admin's writes to members; the admin API has no such limit. */
const memberWrites = { count: 60, seconds: 60 }

/** Counts a write of an org_admin to members, committed by itself. Throws `rate_limited`. */
export async function limitMemberWrites(deps: Deps<Pool>, { by }: Governed, { caller }: Actor): Promise<void> {
  if (by === 'org_admin' && caller?.kind === 'user') await takeAttempt(deps, `member-writes:${caller.userId}`, memberWrites)
}

async function isOrgAdmin(deps: Deps, organizationId: string, { caller }: Actor): Promise<boolean> {
  if (caller?.kind !== 'user') return false
  const held = await adminsOf(deps, organizationId).where('m.user_id', caller.userId).first('m.id')
  return held !== undefined
}

/** Throws `last_organization_admin` when nobody but this user could govern the organization from within. */
export async function assertOtherAdmin(deps: Deps, organizationId: string, userId: string): Promise<void> {
  const other = await adminsOf(deps, organizationId)
    .join('users as u', 'u.id', 'm.user_id')
    .where('u.status', 'active')
    .whereNot('m.user_id', userId)
    .first('m.id')
  if (!other) throw new ApiError('last_organization_admin', { detail: 'Make another member org_admin first' })
}

/** Whether the organization has no member besides this one. */
export async function isSoleMember(deps: Deps, organizationId: string, userId: string): Promise<boolean> {
  const other = await membersOf(deps, organizationId).whereNot('m.user_id', userId).first('m.id')
  return other === undefined
}

/**
 * Throws `not_found` for a user who is no member, and alike, after the same work, for an id that no user has: an org_admin learns
 * nothing about other users.
 */
export async function assertMember(deps: Deps, key: { organizationId: string; userId: string }): Promise<void> {
  const member = await membersOf(deps, key.organizationId).where('m.user_id', key.userId).first('m.id')
  if (!member) throw new ApiError('not_found', { detail: 'The user is no member of this organization' })
}

function membersOf(deps: Deps, organizationId: string) {
  return deps
    .db('organization_memberships as m')
    .join('users as u', 'u.id', 'm.user_id')
    .where('m.organization_id', organizationId)
    .whereNot('u.status', 'deleted')
}

function adminsOf(deps: Deps, organizationId: string) {
  return deps
    .db('organization_memberships as m')
    .join('membership_roles as r', 'r.membership_id', 'm.id')
    .where({ 'm.organization_id': organizationId, 'r.role_code': ADMIN_ROLE })
}
