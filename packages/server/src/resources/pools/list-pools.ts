import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { nameKeyOf, type Page, type PageRequest, pageOf, rowsToRead } from '../../lib/keyset.ts'
import { poolSet } from '../../lib/pool-set.ts'
import { App } from '../../models/app.ts'
import type { poolRecord } from './schema.ts'

type PoolRecord = z.output<typeof poolRecord>

/** Where users name pools: as home, and as tag. What deleted users name is no pool. */
const sources = {
  users: "users where status <> 'deleted'",
  tags: 'user_namespaces where true',
}

/**
 * The pools there are, by name: those that a user or an app names. The names are stepped through by the index, so that a page counts
 * the users of its own pools alone, however many users there are.
 */
export async function listPools(deps: Deps, request: PageRequest): Promise<Page<PoolRecord>> {
  const after = request.cursor ?? ''
  const most = rowsToRead(request)
  const apps = await appsByPool(deps)
  const named = [
    ...(await namesAfter(deps, sources.users, after, most)),
    ...(await namesAfter(deps, sources.tags, after, most)),
    ...[...apps.keys()].filter((name) => name > after),
  ]
  const names = [...new Set(named)].sort().slice(0, most)
  const { items, nextCursor } = pageOf(names, request, nameKeyOf)
  const homes = await countIn(deps, sources.users, items)
  const tags = await countIn(deps, sources.tags, items)
  return {
    items: items.map((namespace) => ({
      namespace,
      user_count: homes.get(namespace) ?? 0,
      tagged_user_count: tags.get(namespace) ?? 0,
      apps: apps.get(namespace) ?? [],
    })),
    nextCursor,
  }
}

/** Whether a user or an app names the pool. */
export async function poolExists(deps: Deps, namespace: string): Promise<boolean> {
  if (await deps.db('users').where({ namespace }).whereRaw("status <> 'deleted'").orderBy('id').first('id')) return true
  if (await deps.db('user_namespaces').where({ namespace }).orderBy('user_id').first('user_id')) return true
  return (await appsByPool(deps)).has(namespace)
}

async function appsByPool(deps: Deps): Promise<Map<string, PoolRecord['apps']>> {
  const apps = await App.query(deps.db).select('id', 'code', 'registration_namespace', 'read_namespaces')
  const byPool = new Map<string, PoolRecord['apps']>()
  for (const app of apps.sort((a, b) => (a.code < b.code ? -1 : 1))) {
    for (const pool of poolSet(app)) {
      const as = pool === app.registration_namespace ? 'registration' : 'read'
      byPool.set(pool, [...(byPool.get(pool) ?? []), { id: app.id, code: app.code, as }])
    }
  }
  return byPool
}

/** The next distinct names, each found by one step down the index; a `distinct` would read every row. */
async function namesAfter(deps: Deps, source: string, after: string, most: number): Promise<string[]> {
  const next = `select namespace from ${source} and namespace > ? order by namespace limit 1`
  const query = deps.db
    .withRecursive(
      'names',
      deps.db.raw(
        `select (${next}) as name, 1 as position
         union all
         select (${next.replace('?', 'names.name')}), position + 1 from names where name is not null and position < ?`,
        [after, most],
      ),
    )
    .from('names')
    .whereNotNull('name')
  return query.pluck('name')
}

/** Each pool is counted off the index by itself: all at once, or with names it knows, Postgres would rather read the whole table. */
async function countIn(deps: Deps, source: string, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map()
  const values = deps.db.raw(`values ${names.map(() => '(?)').join()}`, [...names])
  const name = deps.db.client.driverName === 'pg' ? 'named.name collate "C"' : 'named.name'
  const counted = deps.db.raw(`(select count(*) from ${source} and namespace = ${name}) as count`)
  const rows: { name: string; count: number }[] = await deps.db
    .with('named', ['name'], values)
    .from('named')
    .select('name', counted)
  return new Map(rows.map(({ name, count }) => [name, Number(count)]))
}
