import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Session } from '../../models/session.ts'
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

/**
 * Reads the caller's account again, and keeps it as it is until the transaction ends. A call that shows its caller a secret which
 * outlives the session needs this: if the account is closed meanwhile, the call is refused, or the secret is found and withdrawn.
 * Lock nothing before. Throws `token_revoked`.
 */
export async function keepCaller(deps: Deps<Tx>, { caller }: Actor): Promise<void> {
  if (caller?.kind !== 'user' || caller.sessionId === null) return
  await User.keep(deps.db, caller.userId)
  const session = await Session.findLive(deps.db, caller.sessionId)
  if (session?.status !== 'active' || session.ended_at !== null) throw new ApiError('token_revoked')
  const { user_floor, app_floor, user_access_floor, app_access_floor } = session
  const floors = [user_floor, app_floor ?? 0, user_access_floor, app_access_floor ?? 0]
  if (caller.claims.tv < Math.max(...floors)) throw new ApiError('token_revoked')
}
