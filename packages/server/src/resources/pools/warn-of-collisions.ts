import type { Deps } from '../../deps.ts'
import { isInPools } from '../../lib/pool-set.ts'
import type { PooledUser } from '../users/present.ts'
import { findCollisions } from './list-collisions.ts'

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
    for (const [key, namespaces] of pairsOf(users.map(poolsWithin)))
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

  /** The pools that a user is in, in the order of the set. */
  function poolsWithin(user: PooledUser): string[] {
    return pools.filter((pool) => isInPools(user, [pool]))
  }

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
