import { type Deps, forUpdate } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { User } from '../../models/user.ts'
import { foldTags, type PooledUser } from './present.ts'

/** A user by id, of any status. Throws `not_found`. */
export async function getUser(deps: Deps, id: string): Promise<PooledUser> {
  const rows = await deps
    .db('users')
    .leftJoin('user_namespaces', 'user_namespaces.user_id', 'users.id')
    .where('users.id', id)
    .select('users.*', 'user_namespaces.namespace as tag')
  const [user] = foldTags(rows)
  if (!user) throw new ApiError('not_found', { detail: 'No user has this id' })
  return user
}

/**
 * Makes everybody else who changes what a user holds wait until this transaction ends. Taken before the first such change: rows that
 * refer to the user share a lock on it, and two who both share it could not both go on to this one.
 */
export async function lockUserRow(deps: Deps, id: string): Promise<void> {
  await forUpdate(deps, deps.db('users').where({ id }).first('id'))
}

/** Locks a user's row until the transaction ends. Throws `not_found`, also for a deleted one. */
export async function lockUser(deps: Deps, id: string): Promise<Pick<User, 'id' | 'status' | 'email' | 'token_version'>> {
  const user = await forUpdate(
    deps,
    deps.db('users').where({ id }).whereNot({ status: 'deleted' }).first('id', 'status', 'email', 'token_version'),
  )
  if (!user) throw new ApiError('not_found', { detail: 'No user has this id' })
  return user
}
