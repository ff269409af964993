import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { withPage } from '../../models/list-query.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { pooled } from '../users/present.ts'
import { type Governed, getGovernedOrganization } from './get-governed-organization.ts'
import type { Member } from './present.ts'

/** The members of an organization, newest first, without deleted users. Throws what `getGovernedOrganization` throws. */
export async function listMembers(deps: Deps, governed: Governed, request: PageRequest, actor: Actor): Promise<Page<Member>> {
  const { id } = await getGovernedOrganization(deps, governed, actor)
  const query = OrganizationMembership.query(deps.db)
    .joinRelated('user')
    .where('organization_memberships.organization_id', id)
    .whereNot('user.status', 'deleted')
    .select('organization_memberships.*')
    .withGraphFetched('[user.tags, roles]')
  const { items, nextCursor } = await withPage(query, request, 'organization_memberships.id')
  return {
    items: items.map((membership) => ({
      user: pooled(membership.user!),
      roleCodes: membership.roles!.map((role) => role.role_code),
      joinedAt: membership.created_at,
    })),
    nextCursor,
  }
}
