import type { Deps } from '../../deps.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import { foldTags, type PooledUser } from './present.ts'

/**
 * The user of this e-mail whose home pool or pool tags intersect the pools, the first by precedence (contract 4.5 step 3).
 * Few users share an address, so they are all read by the one index and judged here. Deleted users are not found.
 */
export async function findUserInPools(deps: Deps, email: string, pools: readonly string[]): Promise<PooledUser | undefined> {
  return firstInPools(await listUsersOfEmail(deps, email), pools)
}

/** Every user of an e-mail who is not deleted, in whichever pool. */
export async function listUsersOfEmail(deps: Deps, email: string): Promise<PooledUser[]> {
  return listLivingUsers(deps, 'users.email', [email])
}

/** The users of these ids who are not deleted. */
export async function listUsersByIds(deps: Deps, ids: readonly string[]): Promise<PooledUser[]> {
  return listLivingUsers(deps, 'users.id', ids)
}

async function listLivingUsers(deps: Deps, column: 'users.email' | 'users.id', values: readonly string[]): Promise<PooledUser[]> {
  const rows: (PooledUser & { tag: string | null })[] = await deps
    .db('users')
    .leftJoin('user_namespaces', 'user_namespaces.user_id', 'users.id')
    .whereIn(column, values)
    .whereRaw("users.status <> 'deleted'")
    .orderBy('users.id')
    .select('users.*', 'user_namespaces.namespace as tag')
  return foldTags(rows)
}
