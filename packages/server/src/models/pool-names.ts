import { type Db, isPostgres } from '../db/handle.ts'

// Users name pools as home and as tag, and each of the two has an index of the names. A source is a table with a condition.

/** The next distinct names. Each is one step into the index, while `distinct` would read every row. */
export async function listPoolsAfter(
  db: Db,
  source: string,
  { after, most }: { after: string; most: number },
): Promise<string[]> {
  const next = `select namespace from ${source} and namespace > ? order by namespace limit 1`
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

/** Counts each pool with a separate look-up. With all pools in one condition, Postgres would read the whole table. */
export async function countByPool(db: Db, source: string, names: readonly string[]): Promise<Map<string, number>> {
  if (names.length === 0) return new Map()
  const values = db.raw(`values ${names.map(() => '(?)').join()}`, [...names])
  const name = isPostgres(db) ? 'named.name collate "C"' : 'named.name'
  const counted = db.raw(`(select count(*) from ${source} and namespace = ${name}) as count`)
  const rows: { name: string; count: number }[] = await db.with('named', ['name'], values).from('named').select('name', counted)
  return new Map(rows.map(({ name, count }) => [name, Number(count)]))
}
