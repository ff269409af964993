import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { Organization } from '../../models/organization.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { recordEvent } from '../audit/record-event.ts'

/**
 * Makes a user a member with these roles. Never changes an existing membership. Returns whether this call made it: of concurrent
 * calls one does, and none does once the organization is deleted.
 */
export async function addMember(
  deps: Deps<Tx>,
  input: { organizationId: string; userId: string; roleCodes: readonly string[] },
  actor: Actor,
): Promise<boolean> {
  const { organizationId, userId, roleCodes } = input
  // Keeps the organization from being deleted before the membership exists.
  if (!(await Organization.keep(deps.db, organizationId))) return false
  const now = deps.clock()
  const row = { id: newId(now), organization_id: organizationId, user_id: userId, created_at: now }
  if (!(await OrganizationMembership.insert(deps.db, row))) return false
  await MembershipRole.insert(deps.db, row.id, roleCodes)
  const details = { organization_id: organizationId, before: null, after: { role_codes: roleCodes } }
  await recordEvent(deps, { event: 'membership.created', actor, userId, details })
  return true
}
