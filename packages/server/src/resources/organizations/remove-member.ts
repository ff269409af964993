import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { lockUserRow } from '../users/get-user.ts'
import { findMembership } from './find-membership.ts'
import { ADMIN_ROLE, assertOtherAdmin, type Governed, lockGovernedOrganization } from './govern-organization.ts'

/**
 * Ends a membership. Access tokens with this organization go on until they expire; a refresh with it is refused from now on.
 * Throws what `lockGovernedOrganization` throws, `not_found` for no member, and to an org_admin `last_org_admin`.
 */
export async function removeMember(deps: Deps, input: Governed & { userId: string }, actor: Actor): Promise<void> {
  const { organizationId, userId } = input
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    await lockGovernedOrganization(deps, input, actor)
    const membership = await findMembership(deps, { organizationId, userId })
    if (!membership) throw new ApiError('not_found', { detail: 'The user is no member of this organization' })
    if (input.by === 'org_admin' && membership.roleCodes.includes(ADMIN_ROLE)) {
      await assertOtherAdmin(deps, organizationId, userId)
    }
    await deps.db('organization_memberships').where({ id: membership.id }).delete()
    await recordEvent(deps, {
      event: 'membership.deleted',
      actor,
      userId,
      details: { organization_id: organizationId, before: { role_codes: membership.roleCodes }, after: null },
    })
  })
}
