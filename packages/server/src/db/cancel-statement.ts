import { connect } from 'node:net'

const cancelRequestCode = 80_877_102
const timeoutMs = 3_000

/** A pg connection, with the key for cancelling its statements. A pooler may give none. */
export interface Cancellable {
  host: string
  port: number
  processID: number | null
  secretKey: number | null
}

/**
 * Asks Postgres to cancel the statement of a connection, over a separate connection as the protocol requires, and does not wait
 * for it. Otherwise a statement that waits for a lock would not notice that its client is gone, and would go on waiting.
 */
export function cancelStatement({ host, port, processID, secretKey }: Cancellable): void {
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
