import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hasProvenAddress } from '../../lib/account-record.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { lockSelf } from '../../resources/sessions/read-self.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import type { ChangeEmailInput } from './schema.ts'

/**
 * Mails a link to the new address of an account, and tells the present one if it is proven. An account without a password must
 * first allow the change by a link to the present address. Nothing changes until the new address is confirmed, and the answer
 * never reveals whether another user has it. Throws `app_code_required` for a session without an app, `validation_failed`,
 * `token_revoked` if the session ended in the meantime, and what `requireFreshProof` throws.
 */
export async function requestEmailChange(
  deps: Deps<Pool>,
  { email, password, two_factor_code: code }: ChangeEmailInput,
  caller: UserCaller,
  actor: Actor,
): Promise<void> {
  const { userId, appId } = caller
  if (appId === null)
    throw new ApiError('app_code_required', { detail: 'Log in through an app: the link in the mail leads to its frontend' })
  const user = await getUser(deps, userId)
  const hasPassword = user.password_hash !== null
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code, asksPassword: hasPassword }, actor)
  if (user.email === email) throw fieldError('email', 'invalid_value', 'is already the address of the account')
  const change = { account_email: user.email, mailbox_proven_at: null }
  const about = { appId, userId, tokenVersion: user.token_version }
  await transaction(deps, async (deps) => {
    await lockSelf(deps, caller)
    if (hasPassword) {
      await addTokenMail(deps, { purpose: 'change_email', email, change, ...about }, actor.origin)
      if (hasProvenAddress(user)) await addNotice(deps, 'email_change_requested', { user, appId }, actor)
    } else {
      const allowing = { ...change, new_email: email }
      await addTokenMail(deps, { purpose: 'allow_email_change', email: user.email, change: allowing, ...about }, actor.origin)
    }
    await recordEvent(deps, { event: 'email.change_requested', actor, userId, appId })
  })
}
