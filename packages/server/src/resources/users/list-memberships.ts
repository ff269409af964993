import type { Deps } from '../../deps.ts'
import type { Membership } from '../../lib/records.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'

/** The organizations of a user with the roles held in each, by slug; `organizationId` narrows to one. */
export async function listMemberships(deps: Deps, userId: string, organizationId?: string): Promise<Membership[]> {
  const rows = await OrganizationMembership.listOfUser(deps.db, userId, organizationId)
  const memberships = new Map<string, Membership>()
  for (const { role_code, ...organization } of rows) {
    const membership = memberships.get(organization.id) ?? { ...organization, role_codes: [] }
    if (role_code !== null) membership.role_codes.push(role_code)
    memberships.set(organization.id, membership)
  }
  return [...memberships.values()]
}
