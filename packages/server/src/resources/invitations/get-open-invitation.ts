import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { Invitation } from '../../models/invitation.ts'

/** The invitations that somebody may still accept. */
export function openInvitations(deps: Deps) {
  return Invitation.query(deps.db).whereNull('accepted_at').where('expires_at', '>', deps.clock())
}

/** The invitation of a token with its app and organization. Throws `invalid_invitation` when it is unknown, expired or spent. */
export async function getOpenInvitation(deps: Deps, token: string): Promise<Invitation> {
  const invitation = await openInvitations(deps)
    .findOne({ token_hash: hashOpaqueToken(token) })
    .withGraphFetched('[app, organization]')
  if (!invitation) throw invalidInvitation()
  return invitation
}

export function invalidInvitation(): ApiError {
  return new ApiError('invalid_invitation', { detail: 'The invitation is unknown, expired, used or for another address' })
}
