import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { getUser, lockUser } from './get-user.ts'
import type { PooledUser } from './present.ts'

/**
 * Runs `change` in a transaction that holds the locks of a user's e-mail, of `newEmail` where there is one, and then of the user's row:
 * nobody else registers, moves or tags a user of these addresses meanwhile. It must read the address before it can lock it, and starts
 * over if the address changed in between. Throws `not_found`, also for a deleted user.
 */
export async function changeUser<T>(
  deps: Deps<Pool>,
  userId: string,
  newEmail: string | undefined,
  change: (deps: Deps<Tx>, user: PooledUser) => Promise<T>,
): Promise<T> {
  const { email } = await getUser(deps, userId)
  const emails = [...new Set([email, newEmail ?? email])].sort()
  const outcome = await transaction(deps, async (deps) => {
    for (const each of emails) await lockUntilCommit(deps.db, 'email', each)
    await lockUser(deps, userId)
    const user = await getUser(deps, userId)
    return user.email === email ? { result: await change(deps, user) } : undefined
  })
  return outcome ? outcome.result : changeUser(deps, userId, newEmail, change)
}
