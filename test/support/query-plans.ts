// Reports what each statement of a service reads, according to the database. On Postgres by auto_explain, which
// explains the statements that actually ran, with their values and the look-ups of foreign keys. On SQLite by
// `explain query plan` of each prepared statement.
import { createRequire } from 'node:module'
import type { TestService } from './service.ts'

const fromServer = createRequire(new URL('../../packages/server/package.json', import.meta.url))

/** How a statement reads a table. */
interface Reading {
  table: string
  how: string
  /** Whether it scans the table instead of using an index. */
  isScan: boolean
  /** Rows that it read, whether or not they are part of the answer. Undefined on SQLite. */
  rows: number | undefined
}

export interface Planned {
  sql: string
  readings: Reading[]
}

export interface PlanReader {
  /** All statements that ran since the last call. */
  take(): Planned[]
}

/** Call it before the service has sent any statement. Throws if Postgres cannot load auto_explain. */
export async function readPlans(service: TestService): Promise<PlanReader> {
  const { db, config } = service.deps
  const { pool } = db.client
  const planned: Planned[] = []
  const take = () => planned.splice(0)
  if (config.databaseUrl.startsWith('sqlite:')) {
    const explainer = new (fromServer('better-sqlite3'))(config.databaseUrl.slice('sqlite:'.length))
    const ran: string[] = []
    pool.on('createSuccess', (_: number, connection: SqliteConnection) => {
      const prepare = connection.prepare.bind(connection)
      connection.prepare = (sql) => {
        ran.push(sql)
        return prepare(sql)
      }
    })
    return { take: () => ran.splice(0).flatMap((sql) => explainOnSqlite(explainer, sql)) }
  }
  await explainByItself(config.databaseUrl)
  pool.on('createSuccess', (_: number, connection: PostgresConnection) => {
    connection.on('notice', ({ message = '' }) => {
      const json = /^duration: .* plan:\n(\{[\s\S]*\})$/.exec(message)?.[1]
      if (json === undefined) return
      const { 'Query Text': sql, Plan: plan } = JSON.parse(json) as { 'Query Text': string; Plan: PlanNode }
      planned.push({ sql, readings: readingsOf(plan) })
    })
  })
  return { take }
}

interface SqliteConnection {
  prepare(sql: string): unknown
}
interface PostgresConnection {
  on(event: 'notice', listener: (notice: { message?: string }) => void): void
}

async function explainByItself(databaseUrl: string): Promise<void> {
  const client = new (fromServer('pg').Client)({ connectionString: databaseUrl })
  await client.connect()
  try {
    await client.query("load 'auto_explain'")
    const database = client.escapeIdentifier(client.database)
    const settings = {
      session_preload_libraries: 'auto_explain',
      'auto_explain.log_min_duration': '0',
      'auto_explain.log_level': 'notice',
      'auto_explain.log_format': 'json',
      'auto_explain.log_analyze': 'on',
      'auto_explain.log_timing': 'off',
      'auto_explain.log_nested_statements': 'on',
    }
    for (const [name, value] of Object.entries(settings))
      await client.query(`alter database ${database} set ${name} = '${value}'`)
  } finally {
    await client.end()
  }
}

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  Plans?: PlanNode[]
  [removed: `Rows Removed by ${string}`]: number | undefined
}

function readingsOf(node: PlanNode): Reading[] {
  const below = (node.Plans ?? []).flatMap(readingsOf)
  const { 'Node Type': how, 'Relation Name': table, 'Index Name': index, 'Actual Loops': loops = 0 } = node
  if (table === undefined || how === 'ModifyTable') return below
  const seen = (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  const isScan = how.endsWith('Seq Scan')
  return [{ table, how: index === undefined ? how : `${how} using ${index}`, isScan, rows: Math.round(seen * loops) }, ...below]
}

interface Explainer {
  prepare(sql: string): { all(...values: unknown[]): { detail: string }[] }
}

function explainOnSqlite(db: Explainer, sql: string): Planned[] {
  if (!/^\s*(select|insert|update|delete|with)/i.test(sql)) return []
  const details = explain(db, sql).map(({ detail }) => detail)
  const readings = details.flatMap((detail): Reading[] => {
    const [, way, name] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? []
    if (way === undefined || name === undefined) return []
    return [
      {
        table: tableCalled(name, sql),
        how: detail,
        isScan: way === 'SCAN' && !/USING (COVERING )?INDEX/.test(detail),
        rows: undefined,
      },
    ]
  })
  return [{ sql, readings }]
}

/** The name of the table that an alias stands for: SQLite's plans name a table as the statement does. */
function tableCalled(name: string, sql: string): string {
  return new RegExp(`["\`]?(\\w+)["\`]? as ["\`]?${name}\\b`, 'i').exec(sql)?.[1] ?? name
}

/** The only way to learn how many values a statement takes is to try with too few. */
function explain(db: Explainer, sql: string): { detail: string }[] {
  const statement = db.prepare(`explain query plan ${sql}`)
  for (let values = 0; ; values += 1) {
    try {
      return statement.all(...Array(values).fill(null))
    } catch (error) {
      if (!(error instanceof RangeError) || values > 5_000) throw error
    }
  }
}
