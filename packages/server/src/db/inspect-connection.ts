import pg from 'pg'
import { only } from '../lib/collections.ts'
import { faultOfEngine } from '../lib/database.ts'
import { codeOf } from '../lib/system-error-code.ts'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'

/** A pg connection. */
export interface Connection {
  /** The process number that the other end gave for cancelling statements. */
  processID: number | null
  query(question: { text: string; query_timeout: number | undefined }): Promise<{ rows: Answer[] }>
}

interface Answer {
  pid: number
  isStandby: boolean
  isReadOnly: boolean
  version: string
  cluster?: string
  wal?: string | null
}

/** What is at the other end of a connection. */
export interface Endpoint {
  /**
   * Whether a pooler such as PgBouncer is in between, which may run each transaction on another connection to Postgres. For
   * cancelling statements, Postgres gives each connection the number of its process. A pooler gives a different number.
   */
  isBehindPooler: boolean
  /** It replicates another Postgres, and may be behind. */
  isStandby: boolean
  isReadOnly: boolean
  /** Why the service must not run on this engine. Undefined if it may. */
  engineFault: string | undefined
  /** Undefined on a standby, and if the engine does not report it. */
  lineage: Lineage | undefined
}

/** Which history of commits a Postgres continues. */
export interface Lineage {
  /** Shared by a Postgres and its standbys. Differs after an upgrade of the files, and in an unrelated database. */
  cluster: string
  /** Increases with each promotion of a standby. */
  timeline: number
}

const position = `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
  current_setting('transaction_read_only') = 'on' as "isReadOnly", version() as version`
// The name of a WAL file begins with the timeline, right after a promotion. pg_control_checkpoint() reports it only later.
const lineage = `(select system_identifier::text from pg_control_system()) as cluster,
  case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end as wal`

/** Throws if there is no answer within `timeoutMs`. */
export async function inspectConnection(connection: Connection, timeoutMs: number | undefined): Promise<Endpoint> {
  const ask = (text: string) => connection.query({ text, query_timeout: timeoutMs })
  const { rows } = await ask(`${position}, ${lineage}`).catch((error: unknown) => {
    // Engines that keep their log elsewhere, such as Aurora, reject the second part.
    if (error instanceof pg.DatabaseError && classifyPostgresError(error) === error) return ask(position)
    throw error
  })
  const { pid, isStandby, isReadOnly, version, cluster, wal } = only(rows)
  const hasLineage = cluster !== undefined && typeof wal === 'string'
  return {
    isBehindPooler: pid !== connection.processID,
    isStandby,
    isReadOnly,
    engineFault: faultOfEngine(version),
    lineage: hasLineage ? { cluster, timeline: Number.parseInt(wal.slice(0, 8), 16) } : undefined,
  }
}

/**
 * Connection exceptions, a server that shuts down or starts, and sessions that Postgres ended: idle in a transaction, or too long
 * in one. Also a read-only connection, since its Postgres has become a standby.
 */
const endedClasses = /^(08|57P|25P03|25P04|25006)/
/** Out of memory, disk or connections, and errors with files. */
const exhaustedClasses = /^(53|58)/
/** Ended by a time limit or by an operator, or because two transactions were in conflict. */
const givenUpCodes = new Set(['57014', '55P03', '40001', '40P01'])
const sqliteCodes = /^SQLITE_(BUSY|LOCKED|FULL|IOERR|CANTOPEN|READONLY)/

/** Classifies an error of Postgres by its SQLSTATE: returns DatabaseUnavailableError, or the error as it is. */
export function classifyPostgresError(error: unknown): unknown {
  if (!(error instanceof pg.DatabaseError)) return error
  const { code = '', severity = '' } = error
  // Postgres has ended the connection, whatever the code.
  if (severity === 'FATAL' || severity === 'PANIC' || endedClasses.test(code))
    return new DatabaseUnavailableError('terminated', error)
  return exhaustedClasses.test(code) || givenUpCodes.has(code) ? new DatabaseUnavailableError('statement', error) : error
}

/** `classifyPostgresError` for SQLite: locked by another process, disk full or failing, file that cannot be opened or written. */
export function classifySqliteError(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return sqliteCodes.test(code) ? new DatabaseUnavailableError('statement', error) : error
}

/** Disk full, errors with files, and a connection that only reads. */
const postgresRefusals = /^(53100|58|25006)/
const sqliteRefusals = /^SQLITE_(FULL|IOERR|CANTOPEN|READONLY)/

/** Whether a write failed because the database cannot store anything now, however often it is repeated. */
export function isWriteRefusal(error: unknown): boolean {
  const { cause } = error instanceof DatabaseUnavailableError ? error : {}
  const code = codeOf(cause) ?? ''
  return cause instanceof pg.DatabaseError ? postgresRefusals.test(code) : sqliteRefusals.test(code)
}
