import type { Deps } from '../../deps.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, userOf } from './present.ts'

/**
 * The user of this e-mail whose home pool or pool tags intersect the pools, the first by precedence (contract 4.5 step 3).
 * Few users share an address, so they are all read by the one index and judged here. Deleted users are not found.
 */
export async function findUserInPools(deps: Deps, email: string, pools: readonly string[]): Promise<PooledUser | undefined> {
  return firstInPools(await listUsersOfEmail(deps, email), pools)
}

/** Every user of an e-mail who is not deleted, in whichever pool. */
export async function listUsersOfEmail(deps: Deps, email: string): Promise<PooledUser[]> {
  return (await User.listByEmail(deps.db, email)).map(userOf)
}

/** The users of these ids who are not deleted. */
export async function listUsersByIds(deps: Deps, ids: readonly string[]): Promise<PooledUser[]> {
  return (await User.listByIds(deps.db, ids)).map(userOf)
}
