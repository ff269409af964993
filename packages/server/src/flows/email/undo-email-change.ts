import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { isUnproven, verifiedByLink } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { MailToken, type SpendableToken } from '../../models/mail-token.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { removeIdentities } from '../../resources/identities/remove-identity.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { raiseTokenVersion } from '../../resources/revocations/raise-token-version.ts'
import { clearSecondFactorSince } from '../../resources/second-factors/remove-second-factor.ts'
import { closeAccount } from '../../resources/user-deletions/delete-user.ts'
import { changeAccount } from '../../resources/users/change-user.ts'
import { listUsersOfEmail } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { replaceEmail } from './replace-email.ts'
import type { Verified } from './verify-email.ts'

/**
 * Undoes a change of the address for a user who can read mail to the old one, and ends every session. It overrides all later
 * changes: a thief cannot keep the account by changing the address twice, or by registering the old one. The password is removed,
 * and so are ways to sign in that came since the change was asked for. A mail asks for a new password. Links mailed since then are dead; links
 * that undo an earlier change still work. Throws `invalid_token`, `email_exists_in_pool`.
 */
export async function undoEmailChange(deps: Deps<Pool>, token: string, actor: Actor): Promise<Verified> {
  const found = await getMailToken(deps, token, 'undo_email_change')
  const { user_id: userId, app_id: appId, email } = found
  return changeAccount(deps, userId, email, async (deps, before) => {
    await spendMailToken(deps, found)
    if (before.status !== 'active') throw invalidToken()
    await removeSquatters(deps, before, email, actor)
    const changed = await replaceEmail(deps, before, email, actor)
    // The user has just read mail to the old address. Whether its mailbox was proven is restored from before the change.
    const verification = { ...verifiedByLink(deps.clock(), changed), mailbox_proven_at: found.mailbox_proven_at }
    await User.update(deps.db, userId, verification)
    await MailToken.deleteUnspentSince(deps.db, userId, found.created_at)
    await recordEvent(deps, { event: 'email.change_undone', actor, userId, appId })
    await removeNewCredentials(deps, before, found, actor)
    // The thief knew the password, or the account had none.
    await addTokenMail(deps, { purpose: 'reset_password', email, appId, userId }, actor.origin)
    const user = presentUser(await getUser(deps, userId))
    await raiseTokenVersion(deps, { userId, appId: null, reason: 'email.change_undone' })
    return { user, redirectUrl: null }
  })
}

/** Deletes unproven accounts that have the address and share a pool with the user. */
async function removeSquatters(deps: Deps<Tx>, { id, namespace, tags }: PooledUser, email: string, actor: Actor): Promise<void> {
  const pools = [namespace, ...tags]
  for (const other of (await listUsersOfEmail(deps, email)).users) {
    const meets = [other.namespace, ...other.tags].some((pool) => pools.includes(pool))
    if (other.id === id || !meets) continue
    // It may have been proven or closed since it was read.
    await lockUserRow(deps, other.id)
    const account = await getUser(deps, other.id)
    if (account.status !== 'deleted' && isUnproven(account)) await closeAccount(deps, account.id, actor, { reason: 'disowned' })
  }
}

/** Removes the password, since the change needed it, and the second factor and the identities that are newer than the change. */
async function removeNewCredentials(
  deps: Deps<Tx>,
  { id: userId, password_hash: hash }: PooledUser,
  { created_at: since, app_id: appId }: SpendableToken,
  actor: Actor,
): Promise<void> {
  const lost = {
    password: hash !== null,
    two_factor: await clearSecondFactorSince(deps, userId, since),
    identities: await removeIdentities(deps, userId, since),
  }
  if (lost.password) await User.update(deps.db, userId, { password_hash: null })
  if (lost.password || lost.two_factor || lost.identities > 0)
    await recordEvent(deps, { event: 'credentials.removed', actor, userId, appId, details: lost })
}
