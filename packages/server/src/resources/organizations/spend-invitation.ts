import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'

/** What accepting an invitation gives. `appId` only when a system_admin invited to an app. */
export interface SpentInvitation {
  organizationId: string
  roleCodes: string[]
  appId: string | null
  /** It was mailed to this very address, so accepting it proves the mailbox. */
  verifiesEmail: boolean
}

/**
 * Spends an invitation for a user in the transaction of what it buys: one conditional update, so that of any number of callers one
 * wins. Throws `invalid_invitation` when it is unknown, expired, spent or for another address.
 */
export async function spendInvitation(deps: Deps, token: string, user: { id: string; email: string }): Promise<SpentInvitation> {
  const now = deps.clock()
  const [spent] = await deps
    .db('invitations')
    .where({ token_hash: hashOpaqueToken(token) })
    .whereNull('accepted_at')
    .andWhere('expires_at', '>', now)
    .andWhere((any) => any.whereNull('email').orWhere('email', user.email))
    .update({ accepted_at: now, accepted_by: user.id })
    .returning(['organization_id', 'role_codes', 'app_id', 'grants_app', 'email'])
  if (!spent)
    throw new ApiError('invalid_invitation', { detail: 'The invitation is unknown, expired, used or for another address' })
  return {
    organizationId: spent.organization_id,
    roleCodes: JSON.parse(spent.role_codes),
    appId: spent.grants_app ? spent.app_id : null,
    verifiesEmail: spent.email !== null,
  }
}
