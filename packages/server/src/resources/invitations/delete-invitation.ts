import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvent } from '../audit/record-event.ts'
import { type Governed, lockGovernedOrganization } from '../organizations/get-governed-organization.ts'
import { presentInvitation } from './present.ts'

/**
 * Deletes an invitation. If it was accepted, what it gave stays. Throws what `lockGovernedOrganization` throws, and `not_found`
 * if the organization has no such invitation.
 */
export async function deleteInvitation(
  deps: Deps<Pool>,
  { invitationId, ...governed }: Governed & { invitationId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    const { id } = await lockGovernedOrganization(deps, governed, actor)
    const key = { id: invitationId, organization_id: id }
    const invitation = await Invitation.find(deps.db, key)
    if (!invitation) throw new ApiError('not_found', { detail: 'The organization has no invitation with this id' })
    await Invitation.delete(deps.db, invitationId)
    await recordEvent(deps, {
      event: 'invitation.deleted',
      actor,
      appId: invitation.app_id,
      details: { before: presentInvitation(invitation, deps.clock()) },
    })
  })
}
