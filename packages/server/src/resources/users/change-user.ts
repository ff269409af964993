import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { getUser, lockUserRow } from './get-user.ts'
import type { PooledUser } from './present.ts'

/**
 * Runs `change` in a transaction that locks a user's e-mail, `newEmail` if there is one, and then the user's row. No other
 * request registers, moves or tags a user of these addresses meanwhile. The address must be read before it can be locked, so this
 * starts over if the address changed in between. Throws `not_found`, also for a deleted user.
 */
export async function changeUser<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  return changeAccount(deps, userId, newEmail, (deps, user) => {
    if (user.status === 'deleted') throw new ApiError('not_found', { detail: 'No user has this id' })
    return change(deps, user)
  })
}

/** Like `changeUser`, for the holder of a link: a deleted user is changed too, so `change` must look at the status. */
export async function changeAccount<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  const { email } = await getUser(deps, userId)
  const emails = [...new Set([email, newEmail ?? email])].sort()
  const outcome = await transaction(deps, async (deps) => {
    for (const each of emails) await lockUntilCommit(deps.db, 'email', each)
    await lockUserRow(deps, userId)
    const user = await getUser(deps, userId)
    return user.email === email ? { result: await change(deps, user) } : undefined
  })
  return outcome ? outcome.result : changeAccount(deps, userId, newEmail, change)
}
