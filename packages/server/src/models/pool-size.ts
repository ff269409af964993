import type { Db, Tx } from '../db/handle.ts'
import { forUpdateOfUnlocked } from '../db/locks.ts'
import { chunksOf } from '../lib/collections.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** By how much the numbers of a pool's users have changed. Rows are only added, so that writers never wait for each other. */
class PoolChange extends BaseModel {
  static override tableName = 'pool_changes'
  static override idColumn = 'number'

  declare number: number
  declare namespace: string
  declare homes: number
  declare tagged: number
}

type Noted = Pick<PoolChange, 'namespace'> & Partial<Pick<PoolChange, 'homes' | 'tagged'>>

const both = '(select namespace, homes, tagged from pool_sizes union all select namespace, homes, tagged from pool_changes)'
/** The sizes as the users have them. */
const counted = `(select namespace, 1 as homes, 0 as tagged from users where status <> 'deleted'
  union all select namespace, 0, 1 from user_namespaces)`
/** By how much the kept sizes are wrong. A change of a user is noted in its own transaction, so one statement sees both. */
const wrong = `select namespace, sum(homes) as homes, sum(tagged) as tagged from (
    select namespace, homes, tagged from ${counted} as counted
    union all select namespace, -homes, -tagged from ${both} as kept) as compared
  group by namespace having sum(homes) <> 0 or sum(tagged) <> 0`

/** How many users a pool has: the row of `pool_sizes`, and the rows of `pool_changes` that are not added to it yet. */
export class PoolSize extends BaseModel {
  static override tableName = 'pool_sizes'
  static override idColumn = 'namespace'

  declare namespace: string
  /** Users whose home it is. */
  declare homes: number
  /** Users who are tagged with it. */
  declare tagged: number

  static async listSums(db: Db, names: readonly string[]): Promise<Map<string, PoolSize>> {
    const rows = await db
      .from(db.raw(`${both} as kept`))
      .whereIn('namespace', names)
      .groupBy('namespace')
      .select('namespace', db.raw('sum(homes) as homes'), db.raw('sum(tagged) as tagged'))
    return new Map(rows.map((row) => [row.namespace, { ...row, homes: Number(row.homes), tagged: Number(row.tagged) }]))
  }

  /** Notes changes, those of each pool together. */
  static async note(db: Tx, noted: readonly Noted[]): Promise<void> {
    const rows = sumsOf(noted).filter(({ homes, tagged }) => homes !== 0 || tagged !== 0)
    if (rows.length > 0) await rowsOf(PoolChange, db).insert(rows)
  }

  /** Adds at most `limit` changes to the sizes. Returns how many. */
  static async fold(db: Tx, limit: number): Promise<number> {
    const folded = await forUpdateOfUnlocked(
      db,
      rowsOf(PoolChange, db).orderBy('number').limit(limit).select('number', 'namespace', 'homes', 'tagged'),
    )
    for (const chunk of chunksOf(folded.map(({ number }) => number)))
      await rowsOf(PoolChange, db).whereIn('number', chunk).delete()
    // In one order on every server, so that none waits for another one that waits for it.
    for (const { namespace, homes, tagged } of sumsOf(folded))
      await rowsOf(PoolSize, db)
        .insert({ namespace, homes, tagged })
        .onConflict('namespace')
        .merge({ homes: db.raw('pool_sizes.homes + excluded.homes'), tagged: db.raw('pool_sizes.tagged + excluded.tagged') })
    return folded.length
  }

  /** Counts all users, and notes what the sizes lack: a server of an earlier version does not note what it changes. */
  static async correct(db: Db): Promise<void> {
    await db.raw(`insert into pool_changes (namespace, homes, tagged) ${wrong}`)
  }
}

/** For `check --deep`: pools whose size is wrong. */
export const wrongPools = `select namespace as what from (${wrong}) as wrong`

/** One change for each pool, sorted by its name. */
function sumsOf(noted: readonly Noted[]): Pick<PoolSize, 'namespace' | 'homes' | 'tagged'>[] {
  const sums = new Map<string, { homes: number; tagged: number }>()
  for (const { namespace, homes = 0, tagged = 0 } of noted) {
    const sum = sums.get(namespace) ?? { homes: 0, tagged: 0 }
    sums.set(namespace, { homes: sum.homes + homes, tagged: sum.tagged + tagged })
  }
  return [...sums].map(([namespace, sum]) => ({ namespace, ...sum })).sort((a, b) => (a.namespace < b.namespace ? -1 : 1))
}

/**
 * Users name pools as home and as tag, and each of the two has an index of the names. A pool that only deleted users name does not
 * count.
 */
const sources = { homes: "users where status <> 'deleted'", tags: 'user_namespaces where true' }

/** The next distinct names, by name. Each is one step into the index, while `distinct` would read every row. */
export async function listPoolsAfter(
  db: Db,
  source: keyof typeof sources,
  { after, most }: { after: string; most: number },
): Promise<string[]> {
  const next = `select namespace from ${sources[source]} and namespace > ? order by namespace limit 1`
  const query = db
    .withRecursive(
      'names',
      db.raw(
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
