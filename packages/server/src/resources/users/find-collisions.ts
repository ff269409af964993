import type { Deps } from '../../deps.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, pooled } from './present.ts'

/** An e-mail that more than one user of a set of pools has; those users, who would meet if one app read all of the pools. */
export interface Collision {
  email: string
  users: PooledUser[]
}

/** So many shared e-mails are looked at in one go. */
const portion = 500

/**
 * The e-mails that users of these pools (home or tag) share, in order after `after`, at most so many. First come the e-mails that more
 * than one user has anywhere, read off the index of addresses, which are few; then those are held against the pools.
 */
export async function findCollisions(
  deps: Deps,
  pools: readonly string[],
  { after = '', most }: { after?: string | undefined; most: number },
): Promise<Collision[]> {
  const found: Collision[] = []
  let shared: string[] = []
  do {
    shared = await sharedEmails(deps, shared.at(-1) ?? after)
    found.push(...(await collisionsAmong(deps, shared, pools)))
  } while (shared.length === portion && found.length < most)
  return found.slice(0, most)
}

async function sharedEmails(deps: Deps, after: string): Promise<string[]> {
  return deps
    .db('users')
    .whereRaw("status <> 'deleted'")
    .where('email', '>', after)
    .groupBy('email')
    .havingRaw('count(*) > 1')
    .orderBy('email')
    .limit(portion)
    .pluck('email')
}

/** In the order of the e-mails; the users in the order of the pools that have them. */
async function collisionsAmong(deps: Deps, emails: readonly string[], pools: readonly string[]): Promise<Collision[]> {
  if (emails.length === 0) return []
  const users = await User.query(deps.db)
    .whereIn('email', emails)
    .whereRaw("status <> 'deleted'")
    .where((any) => {
      const tagged = deps.db('user_namespaces as t').whereRaw('t.user_id = users.id').whereIn('t.namespace', pools)
      any.whereIn('namespace', pools).orWhereExists(tagged.select(deps.db.raw('1')) as never)
    })
    .orderBy('id')
    .withGraphFetched('tags')
  const byEmail = new Map(emails.map((email): [string, PooledUser[]] => [email, []]))
  for (const user of users) byEmail.get(user.email)?.push(pooled(user))
  const rank = (user: PooledUser) => pools.indexOf(poolsOf(user, pools)[0]!)
  return [...byEmail]
    .filter(([, users]) => users.length > 1)
    .map(([email, users]) => ({ email, users: users.sort((a, b) => rank(a) - rank(b)) }))
}

/** Those of the pools that a user is in, in their order. */
export function poolsOf(user: Pick<PooledUser, 'namespace' | 'tags'>, pools: readonly string[]): string[] {
  return pools.filter((pool) => user.namespace === pool || user.tags.includes(pool))
}
