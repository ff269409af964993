import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { asClaimable, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { stripForReset } from '../../resources/account-claims/claim-accounts.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { forgetFailures } from '../../resources/lockouts/lockouts.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { dropLoginTokens, getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { raiseTokenVersion } from '../../resources/revocations/end-tokens.ts'
import { hashNewPassword } from '../../resources/users/create-user.ts'
import type { ClaimableAccount } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import type { ResetPasswordInput } from './schema.ts'

/**
 * Sets a new password with the token of a mail. Ends every session and token of the user and clears a lockout. The second factor
 * stays on, and the user is not logged in. Returns the redirect URL if the request for the mail named one. Throws
 * `invalid_token`, and `validation_failed` for the password, which leaves the token unspent.
 */
export async function resetPassword(
  deps: Deps<Pool>,
  input: ResetPasswordInput,
  actor: Actor,
): Promise<{ redirectUrl: string | null }> {
  const found = await getMailToken(deps, input.token, 'reset_password')
  await resetWith(deps, found, input.password, actor)
  return { redirectUrl: found.redirect_url }
}

/** The same, with a token that was found. */
export async function resetWith(deps: Deps<Pool>, found: SpendableToken, password: string, actor: Actor): Promise<void> {
  const passwordHash = await hashNewPassword(deps, password, found.email, actor)
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const account = asClaimable(user)
    if (account) await resetUnproven(deps, { account, passwordHash, appId: found.app_id }, actor)
    else {
      await verifyAddress(deps, user)
      await User.update(deps.db, user.id, { password_hash: passwordHash })
      await dropLoginTokens(deps, user)
      await raiseTokenVersion(deps, { userId: user.id, appId: null, reason: 'password.reset' })
    }
    // Wrong codes stay counted, since a mailbox is not a second factor.
    await forgetFailures(deps, user, { codes: false })
    await addNotice(deps, 'password_reset', { user, appId: found.app_id }, actor)
    await recordEvent(deps, { event: 'password.reset', actor, userId: user.id, appId: found.app_id })
  })
}

/**
 * Resets an unproven account. It loses everything that a stranger may have set up, except the second factor. If there is one, the
 * account stays unproven: the factor may be a stranger's, and only a magic link to a still unproven account removes it.
 */
async function resetUnproven(
  deps: Deps<Tx>,
  { account, passwordHash, appId }: { account: ClaimableAccount; passwordHash: string; appId: string },
  actor: Actor,
): Promise<void> {
  const hasFactor = (await SecondFactor.findActive(deps.db, account.id)) !== undefined
  const given = { password_hash: passwordHash, ...(hasFactor ? {} : verifiedNow(deps.clock(), account)) }
  await stripForReset(deps, { account, given, appId }, actor)
}
