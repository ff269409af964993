import { createRequire } from 'node:module'
import type { Knex } from 'knex'
import type { Pool, Tx } from './handle.ts'

/** The part of knex's client that is used here. */
interface Client {
  version: unknown
  config: unknown
  driver: unknown
  connectionSettings: unknown
  valueForUndefined: unknown
  logger: unknown
  acquireConnection(): Promise<Connection>
  releaseConnection(connection: Connection): void
  query(connection: Connection, query: unknown): Promise<unknown>
  _query(connection: Connection, query: { sql: string }): Promise<{ response?: { command?: string } }>
  emit(event: string, ...details: unknown[]): boolean
  // SQLite alone has it.
  runNow?(connection: Connection, statements: readonly [{ sql: string; bindings: [] }]): unknown
}

interface Connection {
  // SQLite alone has it.
  inTransaction?: boolean
}

const makeKnex: (client: Client) => Knex = createRequire(import.meta.url)('knex/lib/knex-builder/make-knex.js')

/**
 * Makes `transaction` of a pool cheaper, where it is called with a function alone. knex makes a handle with 130 functions for each
 * transaction, which costs more than the statements of a login. Here it is made for the first query that knex composes.
 */
export function withCheapTransactions(pool: Pool): Pool {
  const ofKnex = pool.transaction
  const transaction = (...given: unknown[]) => {
    return isPlain(given) ? inTransaction(pool.client, ...given) : Reflect.apply(ofKnex, pool, given)
  }
  return Object.defineProperty(pool, 'transaction', { value: transaction })
}

function isPlain(given: unknown[]): given is [fn: (db: Tx) => Promise<unknown>] {
  return typeof given[0] === 'function' && given.length === 1
}

/** Runs `fn` in one transaction, which is rolled back if it throws. A statement after the end is refused. */
async function inTransaction<T>(client: Client, fn: (db: Tx) => Promise<T>): Promise<T> {
  const connection = await client.acquireConnection()
  let isCompleted = false
  try {
    await send(client, connection, 'BEGIN;')
    try {
      const result = await fn(handleOf(client, connection, () => isCompleted))
      isCompleted = true
      await commit(client, connection)
      return result
    } catch (error) {
      isCompleted = true
      await rollBack(client, connection)
      throw error
    }
  } finally {
    client.releaseConnection(connection)
  }
}

async function send(client: Client, connection: Connection, sql: string): Promise<string | undefined> {
  if (!client.runNow) return (await client._query(connection, { sql })).response?.command
  client.runNow(connection, [{ sql: sql === 'BEGIN;' ? 'BEGIN IMMEDIATE' : sql, bindings: [] }])
  return undefined
}

async function commit(client: Client, connection: Connection): Promise<void> {
  // Postgres answers this, and no error, if a statement has failed and `fn` went on.
  if ((await send(client, connection, 'COMMIT;')) === 'ROLLBACK') throw new Error('the database rolled the transaction back')
}

async function rollBack(client: Client, connection: Connection): Promise<void> {
  // A full disk has already ended a transaction of SQLite.
  if (connection.inTransaction === false) return
  // If this fails, the connection is gone, and the transaction with it.
  await send(client, connection, 'ROLLBACK;').catch(() => {})
}

/** The transaction as the rest of the code uses it: with what `Statement` needs, and with all of knex once that is asked for. */
function handleOf(client: Client, connection: Connection, isCompleted: () => boolean): Tx {
  const held = holding(client, connection, isCompleted)
  const own: Record<PropertyKey, unknown> = { client: held, isTransaction: true, isCompleted }
  let made: Knex | undefined
  const whole = (): Knex => {
    made ??= Object.assign(makeKnex(held), own)
    return made
  }
  return new Proxy(whole, {
    apply: (_, __, [table]) => whole()(table),
    get: (_, name) => (name in own ? own[name] : Reflect.get(whole(), name)),
  }) as unknown as Tx
}

/** A client of knex that has one connection. */
function holding(client: Client, connection: Connection, isCompleted: () => boolean): Client {
  const { version, config, driver, connectionSettings, valueForUndefined, logger } = client
  const held: Client = Object.create(Object.getPrototypeOf(client))
  const { query } = held
  return Object.assign(held, {
    version,
    config,
    driver,
    connectionSettings,
    valueForUndefined,
    logger,
    transacting: true,
    idleConnection: () => (client.runNow ? connection : undefined),
    acquireConnection: async () => connection,
    releaseConnection() {},
    query: async (on: Connection, sent: unknown) => {
      if (isCompleted()) throw new Error('the transaction has ended')
      return query.call(held, on, sent)
    },
    emit: client.emit.bind(client),
  })
}
