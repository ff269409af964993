import type { Deps } from '../../deps.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import type { FactorRow } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, userOf } from './present.ts'

/** A user with the active second factor, which every way in asks for. */
export interface FoundUser extends PooledUser {
  factor: FactorRow | null
}

/**
 * The user of this e-mail whose home pool or pool tags intersect the pools, the first by precedence (docs/administer/users.md#pools).
 * Few users share an address, so all of them are read by the one index and compared here. Deleted users are not found.
 */
export async function findUserInPools(deps: Deps, email: string, pools: readonly string[]): Promise<FoundUser | undefined> {
  return firstInPools((await listUsersOfEmail(deps, email)).users, pools)
}

/** Every user of an e-mail who is not deleted, in any pool, and the generation of the catalog at that moment. */
export async function listUsersOfEmail(deps: Deps, email: string): Promise<{ users: FoundUser[]; catalogGeneration: string }> {
  const { users, catalogGeneration } = await User.listByEmail(deps.db, email)
  return { users: users.map((row) => ({ ...userOf(row), factor: row.factor })), catalogGeneration }
}

/** The users of these ids who are not deleted. */
export async function listUsersByIds(deps: Deps, ids: readonly string[]): Promise<PooledUser[]> {
  return (await User.listByIds(deps.db, ids)).map(userOf)
}
