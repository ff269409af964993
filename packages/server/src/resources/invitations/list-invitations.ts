import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Invitation } from '../../models/invitation.ts'
import { type Governed, getGovernedOrganization } from '../organizations/get-governed-organization.ts'
import { presentInvitation } from './present.ts'
import type { invitationRecord } from './schema.ts'

/** The invitations of an organization, newest first, spent and expired ones too. Throws what `getGovernedOrganization` throws. */
export async function listInvitations(
  deps: Deps,
  governed: Governed,
  request: PageRequest,
  actor: Actor,
): Promise<Page<z.output<typeof invitationRecord>>> {
  const { id } = await getGovernedOrganization(deps, governed, actor)
  const { items, nextCursor } = await Invitation.listPage(deps.db, id, request)
  const now = deps.clock()
  return { items: items.map((invitation) => presentInvitation(invitation, now)), nextCursor }
}
