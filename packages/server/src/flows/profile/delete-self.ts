import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { closeAccount } from '../../resources/user-deletions/delete-user.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { requireFreshProof } from '../entry/require-fresh-proof.ts'
import type { DeleteSelfInput } from './schema.ts'

/**
 * Deletes the caller's account as an admin would, and notifies its address. Throws what `requireFreshProof` throws,
 * `last_system_admin`, and `token_revoked` if the account was closed in the meantime.
 */
export async function deleteSelf(
  deps: Deps<Pool>,
  { password, two_factor_code: code }: DeleteSelfInput,
  caller: UserCaller,
  actor: Actor,
): Promise<void> {
  const { userId, appId } = caller
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code }, actor)
  await transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    const user = await getUser(deps, userId)
    if (user.status !== 'active') throw new ApiError('token_revoked')
    await addNotice(deps, 'account_deleted', { user, appId }, actor)
    await closeAccount(deps, userId, actor)
  })
}
