import { closeSync, mkdirSync, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import type { Database, RunResult, Statement } from 'better-sqlite3'
import type { Knex } from 'knex'
import { atStage } from '../lib/unavailable.ts'
import { classifySqliteError } from './inspect-connection.ts'

/** A client class of knex, with the members that a subclass here uses. */
export type Dialect<C> = Pick<typeof Knex.Client, keyof typeof Knex.Client> &
  (new (
    config: Knex.Config<object>,
  ) => Knex.Client & C)

const busyTimeoutMs = 4_000
const statementsKept = 500

interface SqliteQuery {
  sql: string
}
interface BoundQuery extends SqliteQuery {
  bindings: readonly unknown[]
}
interface SqliteClient {
  connectionSettings: { filename: string }
  /** Unset once the database is closed. */
  pool?: { numFree(): number }
  acquireConnection(): Promise<Database>
  acquireRawConnection(): Promise<Database>
  _query(connection: Database, query: SqliteQuery): Promise<unknown>
}
const BetterSqlite3Client: Dialect<SqliteClient> = createRequire(import.meta.url)('knex/lib/dialects/better-sqlite3/index.js')

/**
 * knex opens transactions with a plain BEGIN, which SQLite upgrades to a write lock only at the first write: two writers that
 * read first then die at once with SQLITE_BUSY_SNAPSHOT. BEGIN IMMEDIATE takes the lock at the start and waits for it.
 */
class ImmediateSqliteClient extends BetterSqlite3Client {
  #connection: Database | undefined

  override async _query(connection: Database, query: SqliteQuery): Promise<unknown> {
    if (query.sql === 'BEGIN;') query.sql = 'BEGIN IMMEDIATE;'
    try {
      return await super._query(connection, query)
    } catch (error) {
      throw classifySqliteError(error)
    }
  }

  override acquireConnection(): Promise<Database> {
    return atStage('acquire', () => super.acquireConnection())
  }

  override acquireRawConnection(): Promise<Database> {
    createPrivately(this.connectionSettings.filename)
    return atStage('connect', async () => {
      const connection = await super.acquireRawConnection()
      this.#connection = connection
      return connection
    })
  }

  /** The connection, if it is free. Use it only until the next `await`, when other code could take it. */
  idleConnection(): Database | undefined {
    return this.pool && this.pool.numFree() > 0 ? this.#connection : undefined
  }

  /**
   * Runs statements, several of them in a transaction, and returns the answer of the first. If it changes nothing, the others do
   * not run. The driver is synchronous, so no other code runs meanwhile.
   */
  runNow(connection: Database, [first, ...further]: readonly [BoundQuery, ...BoundQuery[]]): unknown[] | RunResult {
    const run = ({ sql, bindings }: BoundQuery) => {
      const statement = connection.prepare(sql)
      return statement.reader ? statement.all(bindings) : statement.run(bindings)
    }
    // A trigger that someone made can drop rows without an error.
    const runFurther = (query: BoundQuery) => {
      const answer = run(query)
      const isDropped = /^\s*insert\b/.test(query.sql) && !Array.isArray(answer) && answer.changes === 0
      if (isDropped) throw new Error('the database dropped a row; run gatehouse check --deep, which lists triggers')
    }
    const ownsTransaction = further.length > 0 && !connection.inTransaction
    try {
      if (ownsTransaction) run({ sql: 'BEGIN IMMEDIATE', bindings: [] })
      const answer = run(first)
      if (Array.isArray(answer) || answer.changes > 0) further.forEach(runFurther)
      if (ownsTransaction) run({ sql: 'COMMIT', bindings: [] })
      return answer
    } catch (error) {
      // A full disk has already ended the transaction.
      if (ownsTransaction && connection.inTransaction) run({ sql: 'ROLLBACK', bindings: [] })
      throw classifySqliteError(error)
    }
  }
}

/** Creates the database file with mode 0600. Its `-wal` and `-shm` files get the same mode. */
function createPrivately(filename: string): void {
  try {
    closeSync(openSync(filename, 'ax', 0o600))
  } catch {
    // It exists already, or it cannot be created, which SQLite reports itself.
  }
}

/** Settings of knex for the database in this file. */
export function sqliteSettings(path: string): Knex.Config {
  const filename = resolve(path)
  mkdirSync(dirname(filename), { recursive: true, mode: 0o700 })
  return {
    client: ImmediateSqliteClient,
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: Database, done: (error: Error | null, connection: Database) => void) {
        connection.pragma(`busy_timeout = ${busyTimeoutMs}`)
        connection.pragma('journal_mode = WAL')
        // Confirmed commits must survive a power cut.
        connection.pragma('synchronous = FULL')
        connection.pragma('foreign_keys = ON')
        // In KiB; the driver would take 16 MB. Pages that do not fit are in the cache of the operating system, one read away.
        connection.pragma('cache_size = -2000')
        keepStatements(connection)
        done(null, connection)
      },
    },
  }
}

/**
 * Keeps recent statements prepared. knex would prepare each one again, which costs more than running it. SQLite recompiles a join
 * whenever a value that it compares is bound, since its plan may depend on the value. The plus sign prevents that.
 */
function keepStatements(connection: Database): void {
  const prepare = connection.prepare.bind(connection)
  const kept = new Map<string, Statement>()
  const prepareOnce = (sql: string) => {
    const statement = kept.get(sql) ?? prepare(sql.replace(/([=<>] )\?/g, '$1+?'))
    // The order matters only where one of them is about to go.
    if (kept.size > statementsKept / 2) kept.delete(sql)
    kept.set(sql, statement)
    if (kept.size > statementsKept) {
      const [oldest = sql] = kept.keys()
      kept.delete(oldest)
    }
    return statement
  }
  Object.assign(connection, { prepare: prepareOnce })
}
