import type { Deps } from '../../deps.ts'
import { findCollisions, poolsOf } from '../users/find-collisions.ts'

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
