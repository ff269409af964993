import pg from 'pg'
import { faultOfEngine } from '../lib/database-engine.ts'
import { classifyPostgresError } from './classify-error.ts'

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
  const { pid, isStandby, isReadOnly, version, cluster, wal } = rows[0]!
  const hasLineage = cluster !== undefined && typeof wal === 'string'
  return {
    isBehindPooler: pid !== connection.processID,
    isStandby,
    isReadOnly,
    engineFault: faultOfEngine(version),
    lineage: hasLineage ? { cluster, timeline: Number.parseInt(wal.slice(0, 8), 16) } : undefined,
  }
}
