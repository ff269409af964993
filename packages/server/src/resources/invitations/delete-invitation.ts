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
 * Takes an invitation back; what an accepted one has given stays. Throws what `lockGovernedOrganization` throws, and `not_found` for
 * none of this organization.
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
