import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { isUnproven } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { closeAccount } from '../../resources/user-deletions/delete-user.ts'

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
