/** A connection of pg. */
export interface Connection {
  /** The key that the other end gave to cancel statements. */
  processID: number | null
  query(question: { text: string; query_timeout: number | undefined }): Promise<{ rows: { pid: number }[] }>
}

/**
 * Whether a pooler such as PgBouncer is in between, which may run each transaction on another connection to Postgres. Postgres gives each
 * connection the number of its process to cancel statements by; a pooler gives a number of its own. Throws after `timeoutMs`.
 */
export async function isBehindPooler(connection: Connection, timeoutMs: number | undefined): Promise<boolean> {
  const { rows } = await connection.query({ text: 'select pg_backend_pid() as pid', query_timeout: timeoutMs })
  return rows[0]?.pid !== connection.processID
}
