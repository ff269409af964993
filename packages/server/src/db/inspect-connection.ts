import pg from 'pg'
import { faultOfEngine } from '../lib/database-engine.ts'
import { classifyPostgresError } from './classify-error.ts'

/** A connection of pg. */
export interface Connection {
  /** The key that the other end gave to cancel statements. */
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
export interface Standing {
  /**
   * Whether a pooler such as PgBouncer is in between, which may run each transaction on another connection to Postgres. Postgres gives
   * each connection the number of its process to cancel statements by; a pooler gives a number of its own.
   */
  isBehindPooler: boolean
  /** It repeats what another Postgres writes, and may be behind. */
  isStandby: boolean
  isReadOnly: boolean
  /** Why the service must not run on this engine, if so. */
  engineFault: string | undefined
  /** Undefined on a standby, and where the engine does not say. */
  lineage: Lineage | undefined
}

/** Which history of commits a Postgres continues. */
export interface Lineage {
  /** The same for a Postgres and its standbys; another one after an upgrade of the files or in an unrelated database. */
  cluster: string
  /** Grows by each promotion of a standby. */
  timeline: number
}

const position = `select pg_backend_pid() as pid, pg_is_in_recovery() as "isStandby",
  current_setting('transaction_read_only') = 'on' as "isReadOnly", version() as version`
// The name of a file of the log begins with the timeline, at once after a promotion; what pg_control_checkpoint() says comes later.
const lineage = `(select system_identifier::text from pg_control_system()) as cluster,
  case when pg_is_in_recovery() then null else pg_walfile_name(pg_current_wal_lsn()) end as wal`

/** Throws after `timeoutMs`. */
export async function inspectConnection(connection: Connection, timeoutMs: number | undefined): Promise<Standing> {
  const ask = (text: string) => connection.query({ text, query_timeout: timeoutMs })
  const { rows } = await ask(`${position}, ${lineage}`).catch((error: unknown) => {
    // Engines that keep their log elsewhere, as Aurora does, refuse the second part.
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
