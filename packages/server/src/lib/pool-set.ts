import { type AccountRecord, isUnproven } from './account-record.ts'

/** The pool of users whose app names none. */
export const DEFAULT_POOL = 'default'

/** The pools an app sees, in order of precedence: its registration pool, then those it reads (docs/administer/users.md#pools). */
export function poolSet(
  app: { registration_namespace: string; read_namespaces: readonly string[] } | null,
): [string, ...string[]] {
  if (!app) return [DEFAULT_POOL]
  const { registration_namespace: home, read_namespaces: read } = app
  return [home, ...new Set(read.filter((pool) => pool !== home))]
}

/** Whether an app that sees these pools sees the user. */
export function isInPools({ namespace, tags }: Omit<Pooled, keyof AccountRecord>, pools: readonly string[]): boolean {
  return pools.includes(namespace) || tags.some((tag) => pools.includes(tag))
}

/** Every pool that one of these users is in, as home or by tag. */
export function poolsOf(users: readonly Pick<Pooled, 'namespace' | 'tags'>[]): string[] {
  return [...new Set(users.flatMap(({ namespace, tags }) => [namespace, ...tags]))]
}

interface Pooled extends AccountRecord {
  namespace: string
  tags: readonly string[]
}

/**
 * The first by precedence of several users who share an e-mail in the pool set. Unproven accounts come last, so that a later
 * registration of the address never gets ahead of its user. Then home pools come in the order of the set, then pool tags in that
 * order.
 */
export function firstInPools<U extends Pooled>(users: readonly U[], pools: readonly string[]): U | undefined {
  const proven = users.filter((user) => !isUnproven(user))
  return firstOf(proven, pools) ?? firstOf(users, pools)
}

function firstOf<U extends Pooled>(users: readonly U[], pools: readonly string[]): U | undefined {
  for (const pool of pools) {
    const found = users.find((user) => user.namespace === pool)
    if (found) return found
  }
  for (const pool of pools) {
    const found = users.find((user) => user.tags.includes(pool))
    if (found) return found
  }
  return undefined
}
