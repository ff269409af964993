import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'
import createKnexInstance, { type Knex } from 'knex'
import pg from 'pg'
import { isBehindPooler } from './behind-pooler.ts'
import { type Cancellable, cancelStatement } from './cancel-statement.ts'

const INT8_OID = 20
/** A database that gives no connection, or no answer, within these times is told as 503, together in time for the 5 seconds promised. */
const acquireTimeoutMs = 1_800
const queryTimeoutMs = 3_000
const sqliteBusyTimeoutMs = 4_000
const statementsKept = 500

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

interface PostgresConnection extends Cancellable {
  isBehindPooler?: boolean
  connection: { stream: { destroy(reason: Error): void } }
}
interface PostgresQuery {
  options?: { name?: string }
}
interface PostgresClient {
  config: Knex.Config & { queryTimeoutMs?: number }
  _query(connection: PostgresConnection, query: PostgresQuery): Promise<unknown>
}
const PlainPostgresClient = createRequire(import.meta.url)('knex/lib/dialects/postgres/index.js') as new (
  config: Knex.Config,
) => PostgresClient

/**
 * A Postgres that froze, or a network that swallows, answers nothing and ends nothing. The connection is cut then, which fails the
 * statement and takes the connection out of the pool; pg's own time limit would leave it there, waiting. A Postgres that only waits,
 * for a lock that somebody holds, is told to stop: else each statement given up would stay there, beyond any bound of the pool.
 */
class ImpatientPostgresClient extends PlainPostgresClient {
  override async _query(connection: PostgresConnection, query: PostgresQuery): Promise<unknown> {
    const { queryTimeoutMs } = this.config
    // What was prepared under a name is known to one connection of Postgres, and the next statement may run on another.
    if (connection.isBehindPooler) delete query.options?.name
    if (queryTimeoutMs === undefined) return super._query(connection, query)
    const giveUp = () => {
      cancelStatement(connection)
      connection.connection.stream.destroy(new Error('Connection terminated: no answer in time'))
    }
    const timer = setTimeout(giveUp, queryTimeoutMs)
    try {
      return await super._query(connection, query)
    } finally {
      clearTimeout(timer)
    }
  }
}

/** Told what the driver would otherwise print. */
export type Warn = (message: unknown) => void

/**
 * Opens the database named by `sqlite:PATH` or `postgres://…`. Connections are made when first needed. A statement may take 3 seconds,
 * or with `isPatient` as long as it likes: migrations do.
 */
export function createKnex(
  config: { databaseUrl: string; dbPoolMax: number },
  warn: Warn = () => {},
  { isPatient = false } = {},
): Knex {
  const isSqlite = config.databaseUrl.startsWith('sqlite:')
  const settings = isSqlite ? sqliteSettings(config.databaseUrl.slice('sqlite:'.length)) : postgresSettings(config, isPatient)
  return createKnexInstance({
    ...settings,
    // The bound values of a failed statement, e-mails and hashes among them, would end up in its message and so in logs.
    compileSqlOnError: false,
    acquireConnectionTimeout: acquireTimeoutMs,
    // knex would write to the console, between the lines of the structured log.
    log: { warn, error: warn, deprecate: warn, debug() {} },
  })
}

export function isPostgres(db: Knex): boolean {
  return db.client.driverName === 'pg'
}

function sqliteSettings(path: string): Knex.Config {
  const filename = resolve(path)
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 })
  return {
    client: ImmediateSqliteClient as unknown as typeof Knex.Client,
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: Database, done: (error: Error | null, connection: Database) => void) {
        connection.pragma(`busy_timeout = ${sqliteBusyTimeoutMs}`)
        connection.pragma('journal_mode = WAL')
        // An identity store keeps what it has confirmed, also over a power cut: 0.15 ms a commit.
        connection.pragma('synchronous = FULL')
        connection.pragma('foreign_keys = ON')
        // In KiB. What does not fit is in the cache of the system, a read away.
        connection.pragma('cache_size = -4096')
        keepStatements(connection)
        done(null, connection)
      },
    },
  }
}

/**
 * knex prepares each statement anew, which is dearer than running it; those used last are kept ready. SQLite would compile a join anew
 * itself each time that a value is bound to be compared with, since it might plan by the value; the plus sign tells it not to look.
 */
function keepStatements(connection: Database): void {
  const prepare = connection.prepare.bind(connection)
  const kept = new Map<string, Statement>()
  connection.prepare = ((sql: string) => {
    const statement = kept.get(sql) ?? prepare(sql.replace(/([=<>] )\?/g, '$1+?'))
    kept.delete(sql)
    kept.set(sql, statement)
    if (kept.size > statementsKept) kept.delete(kept.keys().next().value!)
    return statement
  }) as typeof connection.prepare
}

function postgresSettings(config: { databaseUrl: string; dbPoolMax: number }, isPatient: boolean): Knex.Config {
  const settings: Knex.Config & { queryTimeoutMs?: number } = {
    client: ImpatientPostgresClient as unknown as typeof Knex.Client,
    ...(isPatient ? {} : { queryTimeoutMs }),
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
    pool: {
      min: 0,
      max: config.dbPoolMax,
      afterCreate(connection: PostgresConnection, done: (error: unknown, connection: PostgresConnection) => void) {
        isBehindPooler(connection as never).then(
          (isBehind) => {
            connection.isBehindPooler = isBehind
            done(null, connection)
          },
          (error) => {
            connection.connection.stream.destroy(error)
            done(error, connection)
          },
        )
      },
    },
  }
  return settings
}
