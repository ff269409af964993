import { type Db, isPostgres } from './handle.ts'

/**
 * Inserts rows that all have the members of the first. Binds all rows as one JSON value: composing and parsing a statement with a
 * value per member would cost more than inserting the rows. Returns how many it inserted. `sqlite` has SQL for further columns
 * there, which Postgres fills.
 */
export async function insertRows(
  db: Db,
  table: string,
  rows: readonly Record<string, unknown>[],
  { sqlite = {} }: { sqlite?: Readonly<Record<string, string>> } = {},
): Promise<number> {
  const [first] = rows
  if (!first) return 0
  const columns = Object.keys(first)
  const list = columns.map(() => '??').join(', ')
  if (isPostgres(db)) {
    const sql = `insert into ?? (${list}) select ${list} from json_populate_recordset(null::??, ?::json)`
    return countOf(await db.raw(sql, [table, ...columns, ...columns, table, JSON.stringify(rows)]))
  }
  const further = Object.entries(sqlite)
  const names = [list, ...further.map(([name]) => name)].join(', ')
  const values = [...columns.map((_, index) => `value ->> ${index}`), ...further.map(([, sql]) => sql)].join(', ')
  const json = JSON.stringify(rows.map((row) => columns.map((column) => row[column])))
  return countOf(await db.raw(`insert into ?? (${names}) select ${values} from json_each(?)`, [table, ...columns, json]))
}

/** How many rows a raw statement changed. */
export function countOf(answer: { rowCount?: number; changes?: number }): number {
  return answer.rowCount ?? answer.changes ?? 0
}

/**
 * The ids of the rows whose column has one of the values and that meet the condition. Looks up each value in the index: with a
 * list of values, Postgres reads the whole table until it has statistics, as in the first minute of an import.
 */
export async function idsWhereIn(
  db: Db,
  table: string,
  column: string,
  values: readonly string[],
  condition: string,
): Promise<string[]> {
  if (!isPostgres(db)) {
    const sql = `select id from ?? where ?? in (select value from json_each(?)) and ${condition}`
    const rows: { id: string }[] = await db.raw(sql, [table, column, JSON.stringify(values)])
    return rows.map(({ id }) => id)
  }
  const each = `select id from ?? where ?? = wanted.value and ${condition} offset 0`
  const sql = `select found.id from unnest(?::text[]) as wanted (value) cross join lateral (${each}) as found`
  const { rows }: { rows: { id: string }[] } = await db.raw(sql, [[...values], table, column])
  return rows.map(({ id }) => id)
}
