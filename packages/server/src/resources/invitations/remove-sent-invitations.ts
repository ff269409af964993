import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvents } from '../audit/record-event.ts'
import { presentInvitation } from './present.ts'

/** Takes back all invitations of a user that nobody has accepted, for an account that is claimed. Returns how many. */
export async function removeSentInvitations(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const invitations = await Invitation.listSent(deps.db, userId)
  const now = deps.clock()
  await Invitation.deleteSent(deps.db, userId)
  await recordEvents(
    deps,
    invitations.map((invitation) => {
      const details = { before: presentInvitation(invitation, now) }
      return { event: 'invitation.deleted', actor, appId: invitation.app_id, details }
    }),
  )
  return invitations.length
}
