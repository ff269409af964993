import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { type FullInvitation, Invitation } from '../../models/invitation.ts'
import { type Governed, getGovernedOrganization } from '../organizations/get-governed-organization.ts'
import type { PooledUser } from '../users/present.ts'
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

/** The invitation of a token with its app and organization. Throws `invalid_invitation` when it is unknown, expired or spent. */
export async function getOpenInvitation(deps: Deps, token: string): Promise<FullInvitation> {
  const invitation = await findOpenInvitation(deps, token)
  if (!invitation) throw invalidInvitation()
  return invitation
}

/** The same. Undefined when it is unknown, expired or spent. */
export async function findOpenInvitation(deps: Deps, token: string): Promise<FullInvitation | undefined> {
  return Invitation.findOpen(deps.db, { token_hash: hashOpaqueToken(token) }, deps.clock())
}

/** The open invitations to the address of a user, newest first. None while it is not proven that the address is theirs. */
export async function listInvitationsTo(deps: Deps, user: PooledUser): Promise<FullInvitation[]> {
  return hasProvenAddress(user) ? Invitation.listFullTo(deps.db, user.email, deps.clock()) : []
}

export function invalidInvitation(): ApiError {
  return new ApiError('invalid_invitation', { detail: 'The invitation is unknown, expired, used or for another address' })
}
