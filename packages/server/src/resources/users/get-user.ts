import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, userOf } from './present.ts'

/** A user by id, of any status. Throws `not_found`. */
export async function getUser(deps: Deps, id: string): Promise<PooledUser> {
  const row = await User.findById(deps.db, id)
  if (!row) throw new ApiError('not_found', { detail: 'No user has this id' })
  return userOf(row)
}

/**
 * Makes other changes to what a user holds wait until this transaction ends. Call it before the first such change: writing a row
 * that refers to the user takes a shared lock, and two transactions that both hold one would deadlock here.
 */
export async function lockUserRow(deps: Deps<Tx>, id: string): Promise<void> {
  await User.lock(deps.db, id)
}

/** Locks a user's row until the transaction ends. Throws `not_found`, also for a deleted one. */
export async function lockUser(deps: Deps<Tx>, id: string): Promise<Pick<User, 'id' | 'status' | 'email' | 'token_version'>> {
  const user = await User.findForUpdate(deps.db, id)
  if (!user) throw new ApiError('not_found', { detail: 'No user has this id' })
  return user
}
