import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { User } from '../../models/user.ts'
import { listUsersOfEmail } from './find-user-in-pools.ts'
import { type PooledUser, pooled } from './present.ts'

// Two users collide if they share an e-mail and one app reads a pool of each.

/**
 * Throws `email_exists_in_pool` if one of the pools, as home or by tag, holds a user of this e-mail other than `exceptUserId`.
 * The caller must hold the lock on the e-mail, so that the result stays true until its transaction ends.
 */
export async function assertEmailFree(
  deps: Deps,
  { email, pools, exceptUserId }: { email: string; pools: readonly string[]; exceptUserId?: string },
): Promise<void> {
  for (const user of (await listUsersOfEmail(deps, email)).users) {
    if (user.id === exceptUserId) continue
    const pool = [user.namespace, ...user.tags].find((each) => pools.includes(each))
    if (pool !== undefined)
      throw new ApiError('email_exists_in_pool', { detail: `The pool ${pool} has another user with this e-mail: ${user.id}` })
  }
}

/** An e-mail that several users of a set of pools share, and those users. They collide in an app that reads all of the pools. */
export interface Collision {
  email: string
  users: PooledUser[]
}

/** How many shared e-mails one query reads. */
const portion = 500

/**
 * The e-mails that several users of these pools (home or tag) share, in order after `after`, at most `most`. It reads the e-mails
 * that several users share in any pools, which are few, from the index of addresses. Then it compares the pools of their users.
 */
export async function findCollisions(
  deps: Deps,
  pools: readonly string[],
  { after = '', most }: { after?: string | undefined; most: number },
): Promise<Collision[]> {
  const found: Collision[] = []
  let shared: string[] = []
  do {
    shared = await User.listSharedEmails(deps.db, { after: shared.at(-1) ?? after, limit: portion })
    found.push(...(await collisionsAmong(deps, shared, pools)))
  } while (shared.length === portion && found.length < most)
  return found.slice(0, most)
}

/** The collisions in the order of the e-mails. The users of each are in the order of their pools. */
async function collisionsAmong(deps: Deps, emails: readonly string[], pools: readonly string[]): Promise<Collision[]> {
  if (emails.length === 0) return []
  const users = await User.listByEmailInPools(deps.db, emails, pools)
  const byEmail = new Map(emails.map((email): [string, PooledUser[]] => [email, []]))
  for (const user of users) byEmail.get(user.email)?.push(pooled(user))
  const rank = (user: PooledUser) => pools.findIndex((pool) => isIn(user, pool))
  return [...byEmail]
    .filter(([, users]) => users.length > 1)
    .map(([email, users]) => ({ email, users: users.sort((a, b) => rank(a) - rank(b)) }))
}

/** The pools of `pools` that a user is in, in the same order. */
function poolsWithin(user: Pick<PooledUser, 'namespace' | 'tags'>, pools: readonly string[]): string[] {
  return pools.filter((pool) => isIn(user, pool))
}

function isIn(user: Pick<PooledUser, 'namespace' | 'tags'>, pool: string): boolean {
  return user.namespace === pool || user.tags.includes(pool)
}

export interface CollisionWarning {
  code: 'email_collisions'
  /** Two pools of the app, in the order in which their users are found. */
  namespaces: [string, string]
  count: number
  message: string
}

/** Counting stops here. */
const mostCounted = 1_000
const mostWarnings = 200

/** Warns an app that reads these pools of the pairs of them that share e-mails. The app finds only one of the two users. */
export async function warnOfCollisions(deps: Deps, pools: readonly string[]): Promise<CollisionWarning[]> {
  if (pools.length < 2) return []
  const counts = new Map<string, { namespaces: [string, string]; count: number }>()
  for (const { users } of await findCollisions(deps, pools, { most: mostCounted })) {
    for (const [key, namespaces] of pairsOf(users.map((user) => poolsWithin(user, pools))))
      counts.set(key, { namespaces, count: (counts.get(key)?.count ?? 0) + 1 })
  }
  const rank = ([first, second]: [string, string]) => pools.indexOf(first) * pools.length + pools.indexOf(second)
  return [...counts.values()]
    .sort((a, b) => rank(a.namespaces) - rank(b.namespaces))
    .slice(0, mostWarnings)
    .map(({ namespaces, count }) => {
      const message = `${count}${count === mostCounted ? ' or more' : ''} e-mails have one user in ${namespaces[0]} and another in ${namespaces[1]}`
      return { code: 'email_collisions', namespaces, count, message }
    })

  /** The pairs of pools in which two of these users collide. Each pair is in pool order, and appears once, by a key. */
  function pairsOf(memberships: readonly string[][]): Map<string, [string, string]> {
    const pairs = new Map<string, [string, string]>()
    memberships.forEach((one, index) => {
      for (const other of memberships.slice(index + 1)) {
        for (const a of one) {
          for (const b of other) {
            const pair: [string, string] = pools.indexOf(a) < pools.indexOf(b) ? [a, b] : [b, a]
            pairs.set(pair.join(' '), pair)
          }
        }
      }
    })
    return pairs
  }
}
