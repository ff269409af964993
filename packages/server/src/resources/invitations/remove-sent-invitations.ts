import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { Invitation } from '../../models/invitation.ts'
import { recordEvents } from '../audit/record-event.ts'
import { presentInvitation } from './present.ts'

/** Deletes all invitations that a user sent and that were not accepted. Returns how many. */
export async function removeSentInvitations(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const invitations = await Invitation.listSent(deps.db, userId)
  await Invitation.deleteSent(deps.db, userId)
  return recordRemovals(deps, invitations, actor)
}

/** Deletes all open invitations to an address. Returns how many. */
export async function removeInvitationsTo(deps: Deps<Tx>, email: string, actor: Actor): Promise<number> {
  const invitations = await Invitation.listOpenTo(deps.db, email, deps.clock())
  await Invitation.deleteOpen(
    deps.db,
    invitations.map(({ id }) => id),
  )
  return recordRemovals(deps, invitations, actor)
}

async function recordRemovals(deps: Deps<Tx>, invitations: readonly Invitation[], actor: Actor): Promise<number> {
  const now = deps.clock()
  await recordEvents(
    deps,
    invitations.map((invitation) => {
      const details = { before: presentInvitation(invitation, now) }
      return { event: 'invitation.deleted', actor, appId: invitation.app_id, details }
    }),
  )
  return invitations.length
}
