import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { dropAddressTokens } from '../../resources/mail/drop-login-tokens.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { raiseAccessFloor } from '../../resources/revocations/raise-access-floor.ts'
import { changeUser } from '../../resources/users/change-user.ts'
import { presentUser } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import { type AccountEvidence, holdsAccount } from '../entry/holds-account.ts'
import { replaceEmail } from './replace-email.ts'
import type { Verified } from './verify-email.ts'

/**
 * Changes an account's address to the one that the token was mailed to, and verifies it as `verifyEmail` does. A mail to the old
 * address reports the change, with a link to undo it. Sessions continue. Throws `invalid_token`, `email_exists_in_pool`, and what
 * `holdsAccount` throws; none of these spends the token.
 */
export async function confirmEmailChange(
  deps: Deps<Pool>,
  { token, ...holding }: { token: string } & AccountEvidence,
  actor: Actor,
): Promise<Verified> {
  const found = await getMailToken(deps, token, 'change_email')
  const { user_id: userId, app_id: appId, email } = found
  const isHolder = await holdsAccount(deps, { userId, appId }, holding, actor)
  return changeUser(deps, userId, email, async (deps, before) => {
    await spendMailToken(deps, found)
    if (before.status !== 'active') throw invalidToken()
    const changed = await replaceEmail(deps, before, email, actor)
    const verified = await verifyAddress(deps, changed, { actor, appId }, { byLinkAlone: !isHolder })
    await dropAddressTokens(deps, userId)
    const change = { account_email: null, mailbox_proven_at: before.mailbox_proven_at }
    await addTokenMail(deps, { purpose: 'undo_email_change', email: before.email, appId, userId, change }, actor.origin)
    // Access tokens still contain the old address.
    await raiseAccessFloor(deps, userId)
    return { user: presentUser(verified), redirectUrl: null }
  })
}
