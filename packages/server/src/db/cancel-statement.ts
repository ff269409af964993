import { connect } from 'node:net'

const cancelRequestCode = 80_877_102
const timeoutMs = 3_000

/** A connection of pg, and the key that Postgres gave it to be cancelled by; a pooler may give none. */
export interface Cancellable {
  host: string
  port: number
  processID: number | null
  secretKey: number | null
}

/**
 * Asks Postgres to end the statement that a connection runs, over a connection of its own as the protocol wants it, and forgets about
 * it: a statement that waits for a lock would not notice that its client is gone, and stay at work as long as the lock is held.
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
