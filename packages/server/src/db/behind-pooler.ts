/** A connection of pg. */
export interface Connection {
  /** What the other end gave to cancel statements by. */
  processID: number | null
  query(question: { text: string; query_timeout: number | undefined }): Promise<{ rows: { pid: number }[] }>
}

/**
 * Whether somebody stands between, such as PgBouncer, who may run each transaction on another connection of Postgres. The number that a
 * connection is given to be cancelled by is that of its Postgres process; a pooler gives one of its own. Throws after so many ms.
 */
export async function isBehindPooler(connection: Connection, timeoutMs: number | undefined): Promise<boolean> {
  const { rows } = await connection.query({ text: 'select pg_backend_pid() as pid', query_timeout: timeoutMs })
  return rows[0]?.pid !== connection.processID
}
