import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { pooled } from '../users/present.ts'
import { type Governed, getGovernedOrganization } from './get-governed-organization.ts'
import type { Member } from './present.ts'

/** The members of an organization, newest first, without deleted users. Throws what `getGovernedOrganization` throws. */
export async function listMembers(deps: Deps, governed: Governed, request: PageRequest, actor: Actor): Promise<Page<Member>> {
  const { id } = await getGovernedOrganization(deps, governed, actor)
  const { items, nextCursor } = await OrganizationMembership.listMembers(deps.db, id, request)
  return {
    items: items.map((membership) => ({
      user: pooled(membership.user),
      roleCodes: membership.roles.map((role) => role.role_code),
      joinedAt: membership.created_at,
    })),
    nextCursor,
  }
}
