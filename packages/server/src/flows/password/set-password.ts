import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor, PersonCaller } from '../../lib/caller.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password-policy.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { dropLoginTokens } from '../../resources/mail/spend-mail-token.ts'
import { raiseTokenVersion } from '../../resources/revocations/end-tokens.ts'
import { type BrowserSecrets, renewSecrets } from '../../resources/sessions/browser-sessions.ts'
import { lockOwner } from '../../resources/sessions/read-self.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'

/**
 * Sets the password of somebody on the account page, who may have had none. Every session ends but the browser session. Throws
 * `validation_failed`, what `requireFreshProof` throws, and `token_revoked` if the browser session has ended meanwhile.
 */
export async function setPassword(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  password: string,
  actor: Actor & { caller: PersonCaller },
): Promise<BrowserSecrets> {
  const { user_id: userId } = live
  const { email, password_hash: oldHash } = await getUser(deps, userId)
  const fault = passwordFault(password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller: actor.caller, factor }, actor)
  const newHash = await deps.passwords.hash(password, hashLineOf(actor))
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    // Of two concurrent changes, one wins.
    const isChanged = await User.replaceHash(deps.db, { id: userId, password_hash: oldHash }, newHash)
    if (!isChanged) throw new ApiError('token_revoked')
    const user = await getUser(deps, userId)
    await dropLoginTokens(deps, user)
    await addNotice(deps, 'password_changed', { user }, actor)
    await recordEvent(deps, { event: 'password.changed', actor, userId })
    return renewSecrets(deps, live, await raiseTokenVersion(deps, { userId, appId: null, reason: 'password.changed' }))
  })
}
