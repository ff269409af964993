import { Statement } from '../../db/statement.ts'
import type { Deps } from '../../deps.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import type { PooledUser } from './present.ts'
import { type UserRow, userColumns, userOf } from './user-columns.ts'

const usersByEmail = new Statement<UserRow>(
  `select ${userColumns} from users u where u.email = :email and u.status <> 'deleted' order by u.id`,
)

/**
 * The user of this e-mail whose home pool or pool tags intersect the pools, the first by precedence (contract 4.5 step 3).
 * Few users share an address, so they are all read by the one index and judged here. Deleted users are not found.
 */
export async function findUserInPools(deps: Deps, email: string, pools: readonly string[]): Promise<PooledUser | undefined> {
  return firstInPools(await listUsersOfEmail(deps, email), pools)
}

/** Every user of an e-mail who is not deleted, in whichever pool. */
export async function listUsersOfEmail(deps: Deps, email: string): Promise<PooledUser[]> {
  return (await usersByEmail.all(deps.db, { email })).map(userOf)
}

/** The users of these ids who are not deleted. */
export async function listUsersByIds(deps: Deps, ids: readonly string[]): Promise<PooledUser[]> {
  const rows: UserRow[] = await deps
    .db('users as u')
    .whereIn('u.id', ids)
    .whereRaw("u.status <> 'deleted'")
    .orderBy('u.id')
    .select(deps.db.raw(userColumns))
  return rows.map(userOf)
}
