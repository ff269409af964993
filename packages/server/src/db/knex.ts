import createKnexInstance from 'knex'
import { withCheapTransactions } from './cheap-transactions.ts'
import { asPool, type Pool } from './handle.ts'
import { postgresSettings } from './postgres-client.ts'
import { Primary } from './primary.ts'
import { sqliteSettings } from './sqlite-client.ts'

/** Receives what the driver would otherwise print. */
export type Warn = (message: unknown) => void

export interface DatabaseSettings {
  databaseUrl: string
  dbPoolMax: number
  /** How long a statement waits for a connection. */
  dbAcquireTimeoutMs?: number
  /** Postgres: how long a statement may take. Without it there is no limit, as for migrations. */
  dbStatementTimeoutMs?: number
}

/**
 * Opens the database named by `sqlite:PATH` or `postgres://…`. Connections are made when first needed. Statements throw
 * `DatabaseUnavailableError` when the database cannot serve them now. A second pool in the same process shares the `primary` of
 * the first.
 */
export function createKnex(
  config: DatabaseSettings,
  warn: Warn = () => {},
  primary: Primary = new Primary(config.databaseUrl),
): Pool {
  const { databaseUrl, dbPoolMax: poolMax, dbAcquireTimeoutMs: connectMs, dbStatementTimeoutMs: statementMs } = config
  const settings = databaseUrl.startsWith('sqlite:')
    ? sqliteSettings(databaseUrl.slice('sqlite:'.length))
    : postgresSettings({ poolMax, connectMs, statementMs }, primary)
  const db = createKnexInstance({
    ...settings,
    // The bound values of a failed statement, e-mails and hashes among them, would end up in its message and so in logs.
    compileSqlOnError: false,
    ...(connectMs === undefined ? {} : { acquireConnectionTimeout: connectMs }),
    // knex would write to the console, between the lines of the structured log.
    log: { warn, error: warn, deprecate: warn, debug() {} },
  })
  return withCheapTransactions(asPool(db))
}
