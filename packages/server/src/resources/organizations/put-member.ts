import type { z } from 'zod'
import { type Deps, transaction } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isForeignKeyViolation } from '../../lib/foreign-key-violation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'
import { addMember, insertMemberRoles } from './add-member.ts'
import { findMembership, type StoredMembership } from './find-membership.ts'
import { ADMIN_ROLE, assertOtherAdmin, type Governed, lockGovernedOrganization } from './govern-organization.ts'
import { presentMember } from './present.ts'
import type { memberRecord } from './schema.ts'
import { settleMemberRoles } from './settle-member-roles.ts'

/**
 * Makes a user a member with exactly these roles, or replaces those held. Of any number of callers at once, one after the other has
 * its way whole. Throws what `lockGovernedOrganization` throws, `not_found`, `validation_failed`, and to an org_admin
 * `last_org_admin`.
 */
export async function putMember(
  deps: Deps,
  { userId, ...input }: Governed & { userId: string; role_codes: readonly string[] },
  actor: Actor,
): Promise<{ created: boolean; member: z.output<typeof memberRecord> }> {
  try {
    return await transaction(deps, async (deps) => {
      await lockUserRow(deps, userId)
      const { id: organizationId } = await lockGovernedOrganization(deps, input, actor)
      const user = await getUser(deps, userId)
      if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
      const roleCodes = await settleMemberRoles(deps, input.role_codes)
      const created = await addMember(deps, { organizationId, userId, roleCodes }, actor)
      const membership = (await findMembership(deps, { organizationId, userId }))!
      if (!created) {
        const isDemoted = membership.roleCodes.includes(ADMIN_ROLE) && !roleCodes.includes(ADMIN_ROLE)
        if (isDemoted && input.by === 'org_admin') await assertOtherAdmin(deps, organizationId, userId)
        await replaceRoles(deps, { organizationId, userId, membership, roleCodes }, actor)
      }
      return { created, member: presentMember({ user, roleCodes, joinedAt: membership.created_at }) }
    })
  } catch (error) {
    if (isForeignKeyViolation(error)) throw fieldError('role_codes', 'invalid_value', 'names a role that was just deleted')
    throw error
  }
}

async function replaceRoles(
  deps: Deps,
  change: { organizationId: string; userId: string; membership: StoredMembership; roleCodes: string[] },
  actor: Actor,
): Promise<void> {
  const { organizationId, userId, membership, roleCodes } = change
  // Both are sorted.
  if (roleCodes.join() === membership.roleCodes.join()) return
  await deps.db('membership_roles').where({ membership_id: membership.id }).delete()
  await insertMemberRoles(deps, membership.id, roleCodes)
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
}
