import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { recordEvents } from '../audit/record-event.ts'
import { listMemberships } from '../users/list-memberships.ts'
import { lockOrganization } from './get-organization.ts'

/** Makes changes to the organizations of these users wait until the transaction ends. Needs the locks of the users' rows. */
export async function lockOrganizationsOf(deps: Deps<Tx>, userIds: readonly string[]): Promise<void> {
  const ids = await OrganizationMembership.listOrganizationIds(deps.db, userIds)
  for (const id of ids) await lockOrganization(deps, id)
}

/** Ends all memberships of a user, for an account that is claimed. Returns how many. Needs `lockOrganizationsOf` before. */
export async function removeMemberships(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const memberships = await listMemberships(deps, userId)
  await OrganizationMembership.deleteOfUser(deps.db, userId)
  await recordEvents(
    deps,
    memberships.map(({ id, role_codes }) => {
      const details = { organization_id: id, before: { role_codes }, after: null }
      return { event: 'membership.deleted', actor, userId, details }
    }),
  )
  return memberships.length
}
