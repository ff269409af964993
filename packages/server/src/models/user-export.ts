import type { Db } from '../db/handle.ts'
import { iso } from '../lib/timestamps.ts'
import { type ExportedTable, exportedTables, type Kind } from './exported-tables.ts'

type ExportedRow = Record<string, unknown>
type TableName = keyof typeof exportedTables

/** The newest rows of a user in one of the tables, as an export shows them. At most `limit`. */
async function listRows(db: Db, name: TableName, { userId, limit }: { userId: string; limit: number }): Promise<ExportedRow[]> {
  const { of, within, where = {}, newestBy, columns }: ExportedTable = exportedTables[name]
  const owned = within ? db(within).where({ user_id: userId }).select('id') : undefined
  const isAudit = name === 'audit_events'
  const rows: ExportedRow[] = await db(name)
    .where(where)
    .modify((query) => (owned ? query.whereIn(of, owned) : query.where(of, userId)))
    .orderBy(newestBy, 'desc')
    .limit(limit)
    .select([...Object.keys(columns), ...(isAudit ? ['actor_id'] : [])])
  return rows.map((row) => {
    // Where an admin was is not the user's.
    const isOthers = isAudit && row.actor_id !== null && row.actor_id !== userId
    const shown = Object.entries(columns).map(([column, kind]) => [column, shownValue(row[column], kind)])
    return { ...Object.fromEntries(shown), ...(isOthers && { ip: null, user_agent: null }) }
  })
}

function shownValue(stored: unknown, kind: Kind): unknown {
  if (stored === null || stored === undefined) return null
  if (kind === 'time') return Number(stored) === 0 ? null : iso(Number(stored))
  if (kind === 'flag') return Number(stored) === 1
  if (kind === 'number') return Number(stored)
  return kind === 'json' ? JSON.parse(String(stored)) : stored
}

/** Everything of a user. `isCut` if a table has more rows than `most`, of which the newest are there. */
export async function exportRows(
  db: Db,
  userId: string,
  most: number,
): Promise<{ tables: Record<TableName, ExportedRow[]>; isCut: boolean }> {
  let isCut = false
  const tables = {} as Record<TableName, ExportedRow[]>
  for (const name of Object.keys(exportedTables) as TableName[]) {
    const rows = await listRows(db, name, { userId, limit: most + 1 })
    isCut ||= rows.length > most
    tables[name] = rows.slice(0, most)
  }
  return { tables, isCut }
}

/** The names of what the rows of an export refer to by id. */
export async function namesIn(db: Db, tables: Readonly<Record<string, readonly ExportedRow[]>>) {
  const ids = (column: string) => {
    const found = Object.values(tables).flatMap((rows) => rows.map((row) => row[column]))
    return [...new Set(found.filter((id): id is string => typeof id === 'string'))]
  }
  const read = async (table: string, name: string, column: string): Promise<Record<string, string>> => {
    const rows: { id: string; name: string }[] = await db(table).whereIn('id', ids(column)).select('id', `${name} as name`)
    return Object.fromEntries(rows.map(({ id, name }) => [id, name]))
  }
  return {
    apps: await read('apps', 'code', 'app_id'),
    organizations: await read('organizations', 'slug', 'organization_id'),
    providers: await read('sso_providers', 'code', 'provider_id'),
  }
}
