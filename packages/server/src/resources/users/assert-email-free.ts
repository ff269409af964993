import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { listUsersOfEmail } from './find-user-in-pools.ts'

/**
 * Throws `email_exists_in_pool` if one of the pools, as home or by tag, holds a user of this e-mail other than `exceptUserId`.
 * The caller must hold the lock on the e-mail, so that the result stays true until its transaction ends.
 */
export async function assertEmailFree(
  deps: Deps,
  { email, pools, exceptUserId }: { email: string; pools: readonly string[]; exceptUserId?: string },
): Promise<void> {
  for (const user of (await listUsersOfEmail(deps, email)).users) {
    if (user.id === exceptUserId) continue
    const pool = [user.namespace, ...user.tags].find((each) => pools.includes(each))
    if (pool !== undefined)
      throw new ApiError('email_exists_in_pool', { detail: `The pool ${pool} has another user with this e-mail: ${user.id}` })
  }
}
