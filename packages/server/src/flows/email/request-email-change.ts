import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { requireFreshProof } from '../entry/require-fresh-proof.ts'
import type { ChangeEmailInput } from './schema.ts'

/**
 * Mails a link to the new address of an account. Nothing changes until the link is opened, and the answer never reveals whether
 * another user has the address. Throws `app_code_required` for a session without an app, `validation_failed`, and what
 * `requireFreshProof` throws.
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
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code }, actor)
  const user = await getUser(deps, userId)
  if (user.email === email) throw fieldError('email', 'invalid_value', 'is already the address of the account')
  const change = { account_email: user.email, mailbox_proven_at: null }
  await transaction(deps, async (deps) => {
    await addTokenMail(deps, { purpose: 'change_email', email, appId, userId, change }, actor.origin)
    await recordEvent(deps, { event: 'email.change_requested', actor, userId, appId })
  })
}
