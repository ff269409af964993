import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { addTokenMail } from '../../resources/mail/add-mail.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { getMailToken, invalidToken, spendMailToken } from '../../resources/mail/spend-mail-token.ts'
import { lockSelf } from '../../resources/sessions/read-self.ts'
import { closeAccount } from '../../resources/user-deletions/delete-user.ts'
import { getUser } from '../../resources/users/get-user.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import type { DeleteSelfInput } from './schema.ts'

/**
 * Deletes the caller's account as an admin would, and notifies its address. An account without a password is deleted by a link
 * that is mailed to its address instead. Throws what `requireFreshProof` throws, `last_system_admin`, `token_revoked` if the
 * session ended in the meantime, and `app_code_required` if there is no app that a mail could name.
 */
export async function deleteSelf(
  deps: Deps<Pool>,
  { password, two_factor_code: code }: DeleteSelfInput,
  caller: UserCaller,
  actor: Actor,
): Promise<'deleted' | 'mailed'> {
  const { userId, appId } = caller
  const { email, password_hash: hash, token_version: tokenVersion } = await getUser(deps, userId)
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code, asksPassword: hash !== null }, actor)
  if (hash !== null) {
    await transaction(deps, async (deps) => {
      await lockSelf(deps, caller)
      await close(deps, await getUser(deps, userId), appId, actor)
    })
    return 'deleted'
  }
  if (appId === null) throw new ApiError('app_code_required', { detail: 'Log in through an app: the mail names it' })
  const mail = { purpose: 'delete_account', email, appId, userId, tokenVersion } as const
  await transaction(deps, (deps) => addTokenMail(deps, mail, actor.origin))
  return 'mailed'
}

/** Deletes an account with the token of the mail that its user asked for. Throws `invalid_token`, `last_system_admin`. */
export async function confirmDeletion(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'delete_account')
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    await close(deps, user, found.app_id, actor)
  })
}

async function close(deps: Deps<Tx>, user: PooledUser, appId: string | null, actor: Actor): Promise<void> {
  await addNotice(deps, 'account_deleted', { user, appId }, actor)
  await closeAccount(deps, user.id, actor)
}
