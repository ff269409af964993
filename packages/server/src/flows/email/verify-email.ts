import type { z } from 'zod'
import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { isUnproven } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import type { userRecord } from '../../lib/records.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { closeAccount } from '../../resources/user-deletions/delete-user.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { presentUser } from '../../resources/users/present.ts'
import { verifyAddress } from '../../resources/users/verify-address.ts'
import { type AccountEvidence, holdsAccount } from '../sign-in/prove-again.ts'

export interface Verified {
  user: z.output<typeof userRecord>
  /** Where the user continues. The app allowed this URL when the mail was requested. */
  redirectUrl: string | null
}

/**
 * Verifies the address that the token was mailed to. Apps that ask for a verified address open only if the caller also holds the
 * account: a stranger may have registered the address, and its owner merely clicked the link. Throws `invalid_token`, and what
 * `holdsAccount` throws, which leaves the token unspent.
 */
export async function verifyEmail(
  deps: Deps<Pool>,
  { token, ...holding }: { token: string } & AccountEvidence,
  actor: Actor,
): Promise<Verified> {
  const found = await getMailToken(deps, token, 'verify_email')
  const { user_id: userId, app_id: appId } = found
  // A stranger may have set up the second factor, and the owner of the address the password, by a reset. Proven by the password
  // alone, the account would keep the factor, and its owner could not get in any more.
  const asksCode = isUnproven(await getUser(deps, userId))
  const isHolder = await holdsAccount(deps, { userId, appId, asksCode }, holding, actor)
  return transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const verified = await verifyAddress(deps, user, { actor, appId }, { byLinkAlone: !isHolder })
    return { user: presentUser(verified), redirectUrl: found.redirect_url }
  })
}

/**
 * Called when the owner of a mailbox says that the account with its address is not theirs. Deletes the account if it is unproven.
 * Any other account stays, but the link is spent either way. Throws `invalid_token`.
 */
export async function disownEmail(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'verify_email')
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    if (isUnproven(user)) await closeAccount(deps, user.id, actor, { reason: 'disowned' })
  })
}
