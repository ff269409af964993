import { createRequire } from 'node:module'
import { connect } from 'node:net'
import type { Knex } from 'knex'
import pg from 'pg'
import { atStage, DatabaseUnavailableError } from '../lib/unavailable.ts'
import { type Connection, classifyPostgresError, inspectConnection } from './inspect-connection.ts'
import type { Primary } from './primary.ts'
import type { Dialect } from './sqlite-client.ts'

const INT8_OID = 20
/** The oldest Postgres that is still maintained. */
const oldestVersion = '14'

interface PostgresConnection extends Cancellable, Connection {
  isBehindPooler?: boolean
  /** The era of the `Primary` when the connection was made. */
  era?: number
  /** The connection failed or ended, so every further statement on it fails. */
  hasEnded?: boolean
  connection: { stream: { destroy(reason: Error | undefined): void } }
  on(event: 'error' | 'end', listener: () => void): void
}
interface PostgresQuery {
  sql: string
  options?: { name?: string }
}
interface PostgresLimits {
  connectMs: number | undefined
  statementMs: number | undefined
}
interface PostgresClient {
  config: Knex.Config & { limits: PostgresLimits; primary: Primary }
  acquireConnection(): Promise<PostgresConnection>
  acquireRawConnection(): Promise<PostgresConnection>
  validateConnection(connection: PostgresConnection): Promise<boolean>
  _query(connection: PostgresConnection, query: PostgresQuery): Promise<unknown>
}
const PlainPostgresClient: Dialect<PostgresClient> = createRequire(import.meta.url)('knex/lib/dialects/postgres/index.js')

/**
 * Limits statements at both ends. Postgres ends statements that take too long (`setLimits`), since a frozen server cannot. A
 * frozen Postgres, or a network that drops packets, ends nothing, so this client cuts the connection. That fails the statement
 * and takes the connection out of the pool, while pg's own time limit would leave it there.
 *
 * After a failover, connections to the former primary are useless even if they are still alive: its commits are lost.
 */
class ImpatientPostgresClient extends PlainPostgresClient {
  override async _query(connection: PostgresConnection, query: PostgresQuery): Promise<unknown> {
    const { limits, primary } = this.config
    const { statementMs } = limits
    if (connection.isBehindPooler) adaptToPooler(query, statementMs)
    let isGivenUp = false
    const giveUp = () => {
      isGivenUp = true
      primary.doubt()
      if (mayCancel(connection, query)) cancelStatement(connection)
      cut(connection, new Error('Connection terminated: no answer in time'))
    }
    const timer = statementMs === undefined ? undefined : setTimeout(giveUp, statementMs)
    try {
      assertCurrent(connection, primary)
      const answer = await super._query(connection, query)
      // A commit that the former primary reports is not visible to others.
      assertCurrent(connection, primary)
      return answer
    } catch (error) {
      if (isGivenUp) throw new DatabaseUnavailableError('statement', error)
      const told = connection.hasEnded ? new DatabaseUnavailableError('terminated', error) : classifyPostgresError(error)
      if (told instanceof DatabaseUnavailableError && told.stage === 'terminated') {
        primary.doubt()
        // Otherwise the pool would reuse a connection that became read-only.
        cut(connection, told)
      }
      throw told
    } finally {
      clearTimeout(timer)
    }
  }

  override acquireConnection(): Promise<PostgresConnection> {
    return atStage('acquire', () => super.acquireConnection())
  }

  override acquireRawConnection(): Promise<PostgresConnection> {
    return atStage('connect', async () => {
      try {
        return await prepare(await super.acquireRawConnection(), this.config)
      } catch (error) {
        this.config.primary.doubt()
        throw error
      }
    })
  }

  override async validateConnection(connection: PostgresConnection): Promise<boolean> {
    return connection.era === this.config.primary.era
  }
}

async function prepare(
  connection: PostgresConnection,
  { limits: { connectMs, statementMs }, primary }: PostgresClient['config'],
): Promise<PostgresConnection> {
  const end = () => {
    connection.hasEnded = true
  }
  connection.on('error', end)
  connection.on('end', end)
  try {
    const standing = await inspectConnection(connection, connectMs)
    connection.era = primary.admit(standing)
    connection.isBehindPooler = standing.isBehindPooler
    // Without a limit of ours there is no limit at all, even if the role or the database has one.
    if (!connection.isBehindPooler) await connection.query({ text: setLimits('set', statementMs ?? 0), query_timeout: connectMs })
    return connection
  } catch (error) {
    cut(connection, error instanceof Error ? error : undefined)
    throw error
  }
}

function assertCurrent(connection: PostgresConnection, { era }: Primary): void {
  if (connection.era !== era) throw new DatabaseUnavailableError('terminated', new Error('the database has failed over'))
}

function cut(connection: PostgresConnection, reason: Error | undefined): void {
  connection.connection.stream.destroy(reason)
}

/**
 * Behind a pooler a statement has no other limit; elsewhere Postgres has ended it by now. The exception is a commit that waits
 * for its standby. Cancelling it would make rows visible that a failover then loses.
 */
function mayCancel({ isBehindPooler }: PostgresConnection, { sql }: PostgresQuery): boolean {
  return isBehindPooler === true && !/^(commit|release)/i.test(sql)
}

/**
 * Behind a pooler each transaction may run on another Postgres connection. A prepared name exists on only one of them, and a
 * session setting would affect other clients. A setting of a transaction ends with it.
 */
function adaptToPooler(query: PostgresQuery, statementMs: number | undefined): void {
  delete query.options?.name
  if (query.sql === 'BEGIN;' && statementMs !== undefined) query.sql += ` ${setLimits('set local', statementMs)}`
}

/**
 * What Postgres ends: a wait for a lock, a statement, and a transaction whose server is silent, together with its locks. The
 * first two limits are a little shorter than the limit here, so that they do not cost the connection. The third is shorter than
 * the first, so that a server that waits for the locks of a frozen one still gets them.
 */
function setLimits(set: 'set' | 'set local', statementMs: number): string {
  const limits = {
    lock_timeout: statementMs * 0.9,
    statement_timeout: statementMs * 0.95,
    idle_in_transaction_session_timeout: (statementMs * 2) / 3,
  }
  return Object.entries(limits)
    .map(([name, ms]) => `${set} ${name} = ${Math.round(ms)};`)
    .join(' ')
}

const cancelRequestCode = 80_877_102
const timeoutMs = 3_000

/** A pg connection, with the key for cancelling its statements. A pooler may give none. */
interface Cancellable {
  host: string
  port: number
  processID: number | null
  secretKey: number | null
}

/**
 * Asks Postgres to cancel the statement of a connection, over a separate connection as the protocol requires, and does not wait
 * for it. Otherwise a statement that waits for a lock would not notice that its client is gone, and would go on waiting.
 */
function cancelStatement({ host, port, processID, secretKey }: Cancellable): void {
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  for (const [index, value] of [request.length, cancelRequestCode, processID, secretKey].entries()) {
    request.writeInt32BE(value, index * 4)
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.unref()
  socket.setTimeout(timeoutMs, () => socket.destroy())
  socket.on('error', () => {})
  // Postgres closes it without an answer.
  socket.resume().end(request)
}

/** How knex reaches the Postgres of `primary`. */
export function postgresSettings({ poolMax, ...limits }: PostgresLimits & { poolMax: number }, primary: Primary): Knex.Config {
  const connection = {
    ...(limits.connectMs === undefined ? {} : { connectionTimeoutMillis: limits.connectMs }),
    application_name: 'gatehouse',
    types: {
      // Times, counts and cursors are int8 and all below 2^53; as strings, a count of '10' would compare as smaller than '9'.
      getTypeParser: (oid: number, format: string) =>
        oid === INT8_OID ? Number : pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text'),
    },
  }
  const findConnection = async () => {
    const connectionString = await atStage('connect', () => primary.find())
    return { ...connection, connectionString, expirationChecker: () => !primary.isStill(connectionString) }
  }
  const settings: PostgresClient['config'] = {
    client: ImpatientPostgresClient,
    // Without this, knex asks for the version, and crashes the process if the answer is not that of a Postgres.
    version: oldestVersion,
    limits,
    primary,
    connection: findConnection,
    pool: { min: 0, max: poolMax },
  }
  return settings
}
