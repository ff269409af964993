import { type Deps, forUpdate } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, pooled } from './present.ts'

/** A user by id, of any status. Throws `not_found`. */
export async function getUser(deps: Deps, id: string): Promise<PooledUser> {
  const user = await User.query(deps.db).findById(id).withGraphFetched('tags')
  if (!user) throw new ApiError('not_found', { detail: 'No user has this id' })
  return pooled(user)
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
