import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { dropAddressTokens } from '../../resources/mail/drop-login-tokens.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { raiseAccessFloor } from '../../resources/revocations/raise-access-floor.ts'
import { changeAccount } from '../../resources/users/change-user.ts'
import { presentUser } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import { type AccountEvidence, holdsAccount } from '../entry/holds-account.ts'
import { replaceEmail } from './replace-email.ts'
import type { Verified } from './verify-email.ts'

/**
 * Changes an account's address to the one that the token was mailed to, and verifies it. The caller must also hold the account:
 * otherwise the owner of the new address could be made to put it on a stranger's account by a click. A mail to the old address, if
 * it is proven, has a link to undo the change. Sessions continue. A token that was mailed to the present address of an account
 * without a password only allows the change: then the mail to the new address is sent. Throws `invalid_token`,
 * `validation_failed` without a password and a bearer, `email_exists_in_pool`, and what `holdsAccount` throws; none of these
 * spends the token.
 */
export async function confirmEmailChange(
  deps: Deps<Pool>,
  { token, ...holding }: { token: string } & AccountEvidence,
  actor: Actor,
): Promise<Verified> {
  const found = await getMailToken(deps, token, 'change_email', 'allow_email_change')
  if (found.new_email !== null) return allowChange(deps, found, found.new_email, actor)
  const { user_id: userId, app_id: appId, email } = found
  if (!(await holdsAccount(deps, { userId, appId }, holding, actor)))
    throw fieldError('password', 'required', 'is required, unless the request has a bearer of the account')
  return changeAccount(deps, userId, email, async (deps, before) => {
    await spendMailToken(deps, found)
    if (before.status !== 'active') throw invalidToken()
    const changed = await replaceEmail(deps, before, email, actor)
    const verified = await verifyAddress(deps, changed, { actor, appId })
    await dropAddressTokens(deps, userId)
    if (hasProvenAddress(before)) {
      const change = { account_email: null, mailbox_proven_at: before.mailbox_proven_at, asked_at: found.created_at }
      await addTokenMail(deps, { purpose: 'undo_email_change', email: before.email, appId, userId, change }, actor.origin)
    }
    // Access tokens still contain the old address.
    await raiseAccessFloor(deps, userId)
    return { user: presentUser(verified), redirectUrl: null }
  })
}

/** The holder of the present mailbox allows the change. The address stays until the new one is confirmed. */
async function allowChange(deps: Deps<Pool>, found: SpendableToken, newEmail: string, actor: Actor): Promise<Verified> {
  const { user_id: userId, app_id: appId } = found
  return transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const change = { account_email: user.email, mailbox_proven_at: null, asked_at: found.created_at }
    const about = { appId, userId, tokenVersion: user.token_version }
    await addTokenMail(deps, { purpose: 'change_email', email: newEmail, change, ...about }, actor.origin)
    await recordEvent(deps, { event: 'email.change_allowed', actor, userId, appId })
    return { user: presentUser(user), redirectUrl: null }
  })
}
