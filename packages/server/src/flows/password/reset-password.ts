import { type Deps, transaction } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { removeIdentities } from '../../resources/identities/remove-identity.ts'
import { clearFailures, lockoutKey } from '../../resources/lockouts/count-failure.ts'
import { addNotice } from '../../resources/mail/add-mail.ts'
import { dropLoginTokens } from '../../resources/mail/drop-login-tokens.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { raiseFloor } from '../../resources/revocations/end-sessions.ts'
import { findActiveFactor } from '../../resources/second-factors/find-second-factor.ts'
import { hashNewPassword } from '../../resources/users/hash-new-password.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import type { ResetPasswordInput } from './schema.ts'

/**
 * Sets a new password with the token of a mail (decisions 5): every session and token of the user ends, a lockout is cleared, the second
 * factor stays on, and nobody is logged in. Answers where the user goes on, where whoever asked for the mail said so.
 * Throws `validation_failed` for the password, which spends nothing, and `invalid_token`.
 */
export async function resetPassword(
  deps: Deps,
  input: ResetPasswordInput,
  actor: Actor,
): Promise<{ redirectUrl: string | null }> {
  const found = await getMailToken(deps, input.token, 'reset_password')
  const passwordHash = await hashNewPassword(deps, input.password, found.email)
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    await deps
      .db('users')
      .where({ id: user.id })
      .update({ password_hash: passwordHash, email_verified_at: await verifiedAt(deps, user) })
    await dropLoginTokens(deps, user.id)
    // Whoever opened it in another's name may have come by a provider.
    if (user.email_verified_at === null) await removeIdentities(deps, user.id)
    await clearFailures(deps, lockoutKey(deps, { userId: user.id, email: user.email, appId: undefined }))
    await addNotice(deps, 'password_reset', { user, appId: found.app_id }, actor)
    await recordEvent(deps, { event: 'password.reset', actor, userId: user.id, appId: found.app_id })
    await raiseFloor(deps, { userId: user.id, appId: null, reason: 'password.reset' })
  })
  return { redirectUrl: found.redirect_url }
}

/**
 * Whoever holds the mail has the mailbox. But a second factor of an account whose address nobody had verified may be that of somebody
 * who opened it in another's name: it stays on, and only while the address is unverified does a first magic link remove it.
 */
async function verifiedAt(deps: Deps, user: PooledUser): Promise<number | null> {
  if (user.email_verified_at !== null) return user.email_verified_at
  return (await findActiveFactor(deps, user.id)) ? null : deps.clock()
}
