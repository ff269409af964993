import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { listUsersOfEmail } from './find-user-in-pools.ts'

/**
 * Throws `email_exists_in_pool` when one of the pools, as home or by tag, holds a user of this e-mail other than `exceptUserId`. The
 * caller holds the lock on the e-mail, so that what is found stays true until its transaction ends.
 */
export async function assertEmailFree(
  deps: Deps,
  { email, pools, exceptUserId }: { email: string; pools: readonly string[]; exceptUserId?: string },
): Promise<void> {
  for (const user of await listUsersOfEmail(deps, email)) {
    if (user.id === exceptUserId) continue
    const pool = [user.namespace, ...user.tags].find((each) => pools.includes(each))
    if (pool !== undefined)
      throw new ApiError('email_exists_in_pool', { detail: `The pool ${pool} holds another user of this e-mail: ${user.id}` })
  }
}
