import type { Server } from 'node:http'
import type { Socket } from 'node:net'

const sweepMs = 50

/**
 * Prepares a server to be closed without losing a request: the function returned stops accepting, lets requests in flight finish
 * for `graceMs` at most, and lets go of connections that carry none.
 */
export function gracefulClose(server: Server, graceMs: number): () => Promise<void> {
  // A browser opens connections ahead of time. Node counts one that never sent a byte as busy.
  const silent = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.on('request', ({ socket }) => silent.delete(socket))

  return async () => {
    const sweep = () => {
      server.closeIdleConnections()
      for (const socket of silent) socket.destroy()
    }
    // close() alone waits for every keep-alive connection, however long its client keeps it.
    const timer = setInterval(sweep, sweepMs)
    const force = setTimeout(() => server.closeAllConnections(), graceMs)
    await new Promise((resolve) => {
      server.close(resolve)
      sweep()
    })
    clearInterval(timer)
    clearTimeout(force)
  }
}
