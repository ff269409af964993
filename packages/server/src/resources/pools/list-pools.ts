import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { App } from '../../models/app.ts'
import { PoolSize } from '../../models/pool-size.ts'
import { User } from '../../models/user.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import type { poolRecord } from './schema.ts'

type PoolRecord = z.output<typeof poolRecord>

/** The pools that a user or an app names, by name. Finding a name takes one step into an index. */
export async function listPools(deps: Deps, request: PageRequest): Promise<Page<PoolRecord>> {
  const after = request.cursor ?? ''
  const most = rowsToRead(request)
  const apps = await appsByPool(deps)
  const named = [
    ...(await User.listPools(deps.db, { after, most })),
    ...(await UserNamespace.listPools(deps.db, { after, most })),
    ...[...apps.keys()].filter((name) => name > after),
  ]
  const names = [...new Set(named)].sort().slice(0, most)
  const { items, nextCursor } = pageOf(names, request, nameKeyOf)
  const sizes = await PoolSize.list(deps.db, items)
  return {
    items: items.map((namespace) => ({
      namespace,
      user_count: sizes.get(namespace)?.homes ?? 0,
      tagged_user_count: sizes.get(namespace)?.tagged ?? 0,
      apps: apps.get(namespace) ?? [],
    })),
    nextCursor,
  }
}

/** Whether a user or an app names the pool. */
export async function poolExists(deps: Deps, namespace: string): Promise<boolean> {
  if (await User.isPool(deps.db, namespace)) return true
  if (await UserNamespace.isPool(deps.db, namespace)) return true
  return (await appsByPool(deps)).has(namespace)
}

async function appsByPool(deps: Deps): Promise<Map<string, PoolRecord['apps']>> {
  const apps = await App.listPools(deps.db)
  const byPool = new Map<string, PoolRecord['apps']>()
  for (const app of apps.sort((a, b) => (a.code < b.code ? -1 : 1))) {
    for (const pool of poolSet(app)) {
      const as = pool === app.registration_namespace ? 'registration' : 'read'
      byPool.set(pool, [...(byPool.get(pool) ?? []), { id: app.id, code: app.code, as }])
    }
  }
  return byPool
}
