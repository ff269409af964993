import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { getUser } from '../../resources/users/get-user.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { applyChanges } from '../../resources/users/update-user.ts'

/**
 * Changes an account's address; the new one is unverified. Needs the locks of `changeUser`. Throws `email_exists_in_pool` without
 * the detail that admins get, which says whose address it is.
 */
export async function replaceEmail(deps: Deps<Tx>, user: PooledUser, email: string, actor: Actor): Promise<PooledUser> {
  try {
    await applyChanges(deps, user, { email }, actor)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'email_exists_in_pool') throw new ApiError('email_exists_in_pool')
    throw error
  }
  return getUser(deps, user.id)
}
