import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { ADMIN_ROLE, type MembershipKey, OrganizationMembership } from '../../models/organization-membership.ts'
import { recordEvent, recordEvents } from '../audit/record-event.ts'
import { killMembershipTokens } from '../revocations/end-tokens.ts'
import { lockUserRow } from '../users/get-user.ts'
import { listMemberships } from '../users/list-memberships.ts'
import {
  assertMember,
  assertOtherAdmin,
  type Governed,
  getGovernedOrganization,
  limitMemberWrites,
  lockGovernedOrganization,
} from './get-governed-organization.ts'
import { findMembership, getMembership, lockOrganization, type StoredMembership } from './get-organization.ts'
import { assertRolesTakeable } from './member-roles.ts'

/**
 * Ends a membership. Access tokens with this organization are dead, and a refresh with it is refused. Any member may leave.
 * Throws what `lockGovernedOrganization` throws, and `not_found` if the user is not a member. Outside the admin API it also
 * throws `last_organization_admin`, `rate_limited`, and `system_admin_required` for another member who holds a role that only a
 * system_admin takes away.
 */
export async function removeMember(deps: Deps<Pool>, input: Governed & { userId: string }, actor: Actor): Promise<void> {
  await limitMemberWrites(deps, input, actor)
  const { organizationId, userId } = input
  await transaction(deps, async (deps) => {
    const membership = await lockMembership(deps, input, actor)
    if (input.by === 'org_admin' && membership.roleCodes.includes(ADMIN_ROLE)) {
      if (await OrganizationMembership.hasOtherMember(deps.db, input)) await assertOtherAdmin(deps, input)
    }
    await OrganizationMembership.delete(deps.db, membership.id)
    await recordEvent(deps, {
      event: 'membership.deleted',
      actor,
      userId,
      details: { organization_id: organizationId, before: { role_codes: membership.roleCodes }, after: null },
    })
    await killMembershipTokens(deps, input)
  })
}

/** Locks the membership until the transaction ends, and checks that the caller may end it. */
async function lockMembership(deps: Deps<Tx>, input: Governed & { userId: string }, actor: Actor): Promise<StoredMembership> {
  const isOwn = actor.caller?.kind === 'user' && actor.caller.userId === input.userId
  if (input.by === 'org_admin' && isOwn) return lockOwnMembership(deps, input)
  if (input.by === 'org_admin') {
    // Check before locking the row of the user, who may be a stranger to the organization.
    await getGovernedOrganization(deps, input, actor)
    await assertMember(deps, input)
  }
  await lockUserRow(deps, input.userId)
  await lockGovernedOrganization(deps, input, actor)
  if (input.by === 'org_admin') await assertMember(deps, input)
  const membership = await getMembership(deps, input)
  await assertRolesTakeable(deps, { by: input.by, held: membership.roleCodes })
  return membership
}

/** A caller who is not a member gets the error that strangers get for any organization. */
async function lockOwnMembership(deps: Deps<Tx>, key: MembershipKey): Promise<StoredMembership> {
  await lockUserRow(deps, key.userId)
  await lockOrganization(deps, key.organizationId)
  const membership = await findMembership(deps, key)
  if (!membership) throw new ApiError('organization_admin_required')
  return membership
}

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
