import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { dropLoginTokens, getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { endSessions } from '../../resources/sessions/user-sessions.ts'

/**
 * Called when somebody says that a sign-in was not theirs. Ends every session of the account, removes the password, which the other
 * one may know, and mails a reset. Throws `invalid_token`.
 */
export async function secureAccount(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'new_sign_in')
  const { user_id: userId, app_id: appId, email } = found
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    await endSessions(deps, userId, actor)
    await dropLoginTokens(deps, user)
    if (user.password_hash !== null) {
      await User.update(deps.db, userId, { password_hash: null })
      await recordEvent(deps, { event: 'credentials.removed', actor, userId, appId, details: { password: true } })
    }
    await addTokenMail(deps, { purpose: 'reset_password', email, appId, userId }, actor.origin)
  })
}
