import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import createKnexInstance, { type Knex } from 'knex'
import pg from 'pg'

const INT8_OID = 20
/** A database that gives no connection within this time is answered with 503, in time for the 5 seconds promised. */
const acquireTimeoutMs = 4_000
const sqliteBusyTimeoutMs = 4_000

interface SqliteQuery {
  sql: string
}
interface SqliteClient {
  _query(connection: Database, query: SqliteQuery): Promise<unknown>
}
const BetterSqlite3Client = createRequire(import.meta.url)('knex/lib/dialects/better-sqlite3/index.js') as new (
  config: Knex.Config,
) => SqliteClient

/**
 * knex opens transactions with a plain BEGIN, which SQLite upgrades to a write lock only at the first write: two writers that
 * read first then die at once with SQLITE_BUSY_SNAPSHOT. BEGIN IMMEDIATE takes the lock at the start and waits for it.
 */
class ImmediateSqliteClient extends BetterSqlite3Client {
  override _query(connection: Database, query: SqliteQuery): Promise<unknown> {
    if (query.sql === 'BEGIN;') query.sql = 'BEGIN IMMEDIATE;'
    return super._query(connection, query)
  }
}

/** Opens the database named by `sqlite:PATH` or `postgres://…`. Connections are made when first needed. */
export function createKnex(config: { databaseUrl: string; dbPoolMax: number }): Knex {
  return config.databaseUrl.startsWith('sqlite:')
    ? createSqlite(config.databaseUrl.slice('sqlite:'.length))
    : createPostgres(config)
}

export function isPostgres(db: Knex): boolean {
  return db.client.config.client === 'pg'
}

function createSqlite(path: string): Knex {
  const filename = resolve(path)
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 })
  return createKnexInstance({
    client: ImmediateSqliteClient as unknown as typeof Knex.Client,
    connection: { filename },
    useNullAsDefault: true,
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeoutMs,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: Database, done: (error: Error | null, connection: Database) => void) {
        connection.pragma(`busy_timeout = ${sqliteBusyTimeoutMs}`)
        connection.pragma('journal_mode = WAL')
        // An identity store keeps what it has confirmed, also over a power cut: 0.15 ms a commit.
        connection.pragma('synchronous = FULL')
        connection.pragma('foreign_keys = ON')
        done(null, connection)
      },
    },
  })
}

function createPostgres(config: { databaseUrl: string; dbPoolMax: number }): Knex {
  return createKnexInstance({
    client: 'pg',
    connection: {
      connectionString: config.databaseUrl,
      connectionTimeoutMillis: acquireTimeoutMs,
      application_name: 'gatehouse',
      types: {
        // Times, counts and cursors are int8 and all below 2^53; as strings, a count of '10' would compare as smaller than '9'.
        getTypeParser: (oid: number, format?: 'text' | 'binary') =>
          oid === INT8_OID ? Number : (pg.types.getTypeParser as (oid: number, format?: string) => unknown)(oid, format),
      },
    } as Knex.PgConnectionConfig,
    // The bound values of a failed statement, e-mails and hashes among them, would end up in its message and so in logs.
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeoutMs,
    pool: { min: 0, max: config.dbPoolMax },
  })
}
