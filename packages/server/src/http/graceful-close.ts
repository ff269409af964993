import type { Server, ServerResponse } from 'node:http'
import { Server as Listener, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

const sweepMs = 50
/** Long enough for every connection in use to carry one more request. Its response tells the client to close the connection. */
const idleGraceMs = 500
/** The kernel queues up to 511 connections. Each turn of the event loop accepts one. */
const mostQueued = 511
/** A turn without work takes a fraction of this. In a longer turn, a connection may arrive after the loop has looked for one. */
const briefMs = 1

/**
 * Prepares a server to close without losing a request. The returned function stops accepting connections, gives requests in
 * flight at most `graceMs` to finish, and tells clients not to reuse their connections. The client of an idle connection may have
 * sent its next request already, so idle connections are closed only after half a second.
 */
export function gracefulClose(server: Server, graceMs: number): () => Promise<void> {
  // Browsers open connections ahead of time. Node counts a connection that never sent a byte as busy.
  const silent = new Set<Socket>()
  const unanswered = new Set<ServerResponse>()
  let isClosing = false
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted += 1
    silent.add(socket)
    socket.once('close', () => silent.delete(socket))
  })
  server.prependListener('request', ({ socket }, response) => {
    silent.delete(socket)
    unanswered.add(response)
    response.once('close', () => unanswered.delete(response))
    if (isClosing) response.shouldKeepAlive = false
  })

  /** Accepts the connections in the queue of the kernel first: closing the listener would reset them. */
  const acceptQueued = async () => {
    await nextTurn()
    for (let turn = 0; turn < mostQueued; turn += 1) {
      const before = accepted
      const began = performance.now()
      await nextTurn()
      if (accepted === before && performance.now() - began < briefMs) return
    }
  }

  return async () => {
    await acceptQueued()
    // Do this before anything else, so that few further connections arrive. Close only the listener: http's own close() would cut
    // idle connections at once.
    const ended = new Promise((resolve) => Listener.prototype.close.call(server, resolve))
    isClosing = true
    for (const response of unanswered) response.shouldKeepAlive = false
    // A process that was blocked runs its timers before it reads the requests that arrived meanwhile.
    const sweep = async () => {
      await nextTurn()
      server.closeIdleConnections()
      for (const socket of silent) socket.destroy()
    }
    let sweeping: NodeJS.Timeout | undefined
    const grace = setTimeout(() => {
      sweeping = setInterval(sweep, sweepMs)
      void sweep()
    }, idleGraceMs)
    const force = setTimeout(() => server.closeAllConnections(), graceMs)
    await ended
    for (const timer of [grace, sweeping, force]) clearTimeout(timer)
    server.close()
  }
}
