import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { type FullInvitation, Invitation } from '../../models/invitation.ts'

/** The invitation of a token with its app and organization. Throws `invalid_invitation` when it is unknown, expired or spent. */
export async function getOpenInvitation(deps: Deps, token: string): Promise<FullInvitation> {
  const invitation = await Invitation.findOpen(deps.db, { token_hash: hashOpaqueToken(token) }, deps.clock())
  if (!invitation) throw invalidInvitation()
  return invitation
}

export function invalidInvitation(): ApiError {
  return new ApiError('invalid_invitation', { detail: 'The invitation is unknown, expired, used or for another address' })
}
