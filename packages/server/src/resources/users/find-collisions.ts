import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { User } from '../../models/user.ts'
import { listUsersOfEmail } from './find-user-in-pools.ts'
import { type PooledUser, pooled } from './present.ts'

// Which users may not share an e-mail: those who would meet in a pool that one app reads.

/**
 * Throws `email_exists_in_pool` when one of the pools, as home or by tag, holds a user of this e-mail other than `exceptUserId`. The
 * caller holds the lock on the e-mail, so that what is found stays true until its transaction ends.
 */
export async function assertEmailFree(
  deps: Deps,
  { email, pools, exceptUserId }: { email: string; pools: readonly string[]; exceptUserId?: string },
): Promise<void> {
  for (const user of await listUsersOfEmail(deps, email)) {
    if (user.id === exceptUserId) continue
    const pool = [user.namespace, ...user.tags].find((each) => pools.includes(each))
    if (pool !== undefined)
      throw new ApiError('email_exists_in_pool', { detail: `The pool ${pool} holds another user of this e-mail: ${user.id}` })
  }
}

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

export interface CollisionWarning {
  code: 'email_collisions'
  /** Two pools of the app, in the order in which their users are found. */
  namespaces: [string, string]
  count: number
  message: string
}

/** No more e-mails are counted. */
const mostCounted = 1_000
const mostWarnings = 200

/** What an app that reads these pools should know: which pairs of them hold e-mails that two users share, of whom it finds one alone. */
export async function warnOfCollisions(deps: Deps, pools: readonly string[]): Promise<CollisionWarning[]> {
  if (pools.length < 2) return []
  const counts = new Map<string, number>()
  for (const { users } of await findCollisions(deps, pools, { most: mostCounted })) {
    for (const pair of pairsOf(users.map((user) => poolsOf(user, pools)))) counts.set(pair, (counts.get(pair) ?? 0) + 1)
  }
  const rank = (pair: string) => pools.indexOf(pair.split(' ')[0]!) * pools.length + pools.indexOf(pair.split(' ')[1]!)
  return [...counts]
    .sort(([a], [b]) => rank(a) - rank(b))
    .slice(0, mostWarnings)
    .map(([pair, count]) => {
      const namespaces = pair.split(' ') as [string, string]
      const message = `${count}${count === mostCounted ? ' or more' : ''} e-mails have one user in ${namespaces[0]} and another in ${namespaces[1]}`
      return { code: 'email_collisions', namespaces, count, message }
    })

  /** The pairs of pools, as `first second`, in which two of these users meet; each once. */
  function pairsOf(memberships: readonly string[][]): Set<string> {
    const pairs = new Set<string>()
    memberships.forEach((one, index) => {
      for (const other of memberships.slice(index + 1)) {
        for (const a of one) {
          for (const b of other) pairs.add(pools.indexOf(a) < pools.indexOf(b) ? `${a} ${b}` : `${b} ${a}`)
        }
      }
    })
    return pairs
  }
}
