import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isForeignKeyViolation } from '../../lib/foreign-key-violation.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { ADMIN_ROLE } from '../../models/organization-membership.ts'
import { recordEvent } from '../audit/record-event.ts'
import { killMembershipTokens } from '../revocations/end-tokens.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'
import { addMember } from './add-member.ts'
import {
  assertMember,
  assertOtherAdmin,
  type Governed,
  getGovernedOrganization,
  limitMemberWrites,
  lockGovernedOrganization,
} from './get-governed-organization.ts'
import { findMembership, getMembership, type StoredMembership } from './get-organization.ts'
import { validateMemberRoles } from './member-roles.ts'
import type { Member } from './present.ts'

/**
 * Makes a user a member with exactly these roles, or replaces the roles of a member. An org_admin can only replace roles: a user
 * becomes a member by accepting an invitation. Access tokens with a role that is taken away are dead. Concurrent calls for one
 * organization run one at a time.
 * Throws what `lockGovernedOrganization` throws, `not_found`, `validation_failed`, and to an org_admin `last_organization_admin`
 * and `rate_limited`.
 */
export async function putMember(
  deps: Deps<Pool>,
  { userId, ...input }: Governed & { userId: string; role_codes: readonly string[] },
  actor: Actor,
): Promise<{ created: boolean; member: Member }> {
  await limitMemberWrites(deps, input, actor)
  const isForMembers = input.by === 'org_admin'
  try {
    return await transaction(deps, async (deps) => {
      if (isForMembers) {
        // Check before locking the row of the user, who may be a stranger to the organization.
        await getGovernedOrganization(deps, input, actor)
        await assertMember(deps, { ...input, userId })
      }
      await lockUserRow(deps, userId)
      const { id: organizationId } = await lockGovernedOrganization(deps, input, actor)
      if (isForMembers) await assertMember(deps, { organizationId, userId })
      const user = await getUser(deps, userId)
      if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
      const held = (await findMembership(deps, { organizationId, userId }))?.roleCodes ?? []
      const roleCodes = await validateMemberRoles(deps, input.role_codes, { by: input.by, held })
      const created = await addMember(deps, { organizationId, userId, roleCodes }, actor)
      const membership = await getMembership(deps, { organizationId, userId })
      if (!created) {
        const isDemoted = membership.roleCodes.includes(ADMIN_ROLE) && !roleCodes.includes(ADMIN_ROLE)
        if (isDemoted && isForMembers) await assertOtherAdmin(deps, { organizationId, userId })
        await replaceRoles(deps, { organizationId, userId, membership, roleCodes }, actor)
      }
      return { created, member: { user, roleCodes, joinedAt: membership.created_at } }
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw fieldError('role_codes', 'invalid_value', 'names a role that was just deleted')
    throw error
  }
}

async function replaceRoles(
  deps: Deps<Tx>,
  change: { organizationId: string; userId: string; membership: StoredMembership; roleCodes: string[] },
  actor: Actor,
): Promise<void> {
  const { organizationId, userId, membership, roleCodes } = change
  // Both are sorted.
  if (roleCodes.join() === membership.roleCodes.join()) return
  await MembershipRole.deleteOfMembership(deps.db, membership.id)
  await MembershipRole.insert(deps.db, membership.id, roleCodes)
  await recordEvent(deps, {
    event: 'membership.updated',
    actor,
    userId,
    details: {
      organization_id: organizationId,
      before: { role_codes: membership.roleCodes },
      after: { role_codes: roleCodes },
    },
  })
  const hasLost = membership.roleCodes.some((code) => !roleCodes.includes(code))
  if (hasLost) await killMembershipTokens(deps, { organizationId, userId })
}
