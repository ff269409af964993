// Runs one statement on any Postgres, including a standby, without the server's connection handling.
import { createRequire } from 'node:module'

interface Client {
  connect(): Promise<void>
  query(statement: string): Promise<{ rows?: Record<string, unknown>[] }>
  end(): Promise<void>
  on(event: 'error', listener: () => void): void
}
const pg: {
  Client: new (options: { connectionString: string; connectionTimeoutMillis: number; query_timeout: number }) => Client
} = createRequire(new URL('../../packages/server/package.json', import.meta.url))('pg')

/** The first value of the answer, as text. */
export async function askPostgres(connectionString: string, statement: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000, query_timeout: 60_000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query(statement)
    const [first] = Object.values(rows?.[0] ?? {})
    return first === undefined || first === null ? undefined : String(first)
  } finally {
    await client.end().catch(() => {})
  }
}
