import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, OwnCaller } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { lockOwner } from '../sessions/read-self.ts'
import { getUser } from '../users/get-user.ts'
import { acceptInvitation, type OwnInvitation } from './accept-invitation.ts'

/**
 * Accepts an invitation for a logged-in user. It reads the session again under the lock of the user's row: if the account was
 * claimed meanwhile, its session has ended and the call is refused. Throws `token_revoked`, `invalid_invitation`, and
 * `already_member`, which leaves the invitation unspent and the membership as it is.
 */
export async function joinOrganization(
  deps: Deps<Pool>,
  token: string | OwnInvitation,
  actor: Actor & { caller: OwnCaller },
): Promise<Membership> {
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    const user = await getUser(deps, actor.caller.userId)
    const { membership, joined } = await acceptInvitation(deps, token, user, actor)
    if (!joined) throw new ApiError('already_member', { detail: 'The invitation was not used, and the roles did not change' })
    return membership
  })
}
