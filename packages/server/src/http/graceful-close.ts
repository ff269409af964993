import type { Server, ServerResponse } from 'node:http'
import { Server as Listener, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

const sweepMs = 50
/** Long enough for every connection that is in use to carry one more request, whose answer tells its client to let go. */
const idleGraceMs = 500
/** One connection is accepted in a turn of the event loop; the kernel's queue of them has 511 places. */
const mostQueued = 511
/** A turn without work takes a fraction of it; in a longer one, connections can have come after it looked for them. */
const briefMs = 1

/**
 * Prepares a server for closing without a lost request. The returned function stops accepting, lets requests in flight finish for
 * `graceMs` at most, and tells clients to reuse no connection. An idle connection may carry the next request of its client
 * already, so unused ones are closed after half a second.
 */
export function gracefulClose(server: Server, graceMs: number): () => Promise<void> {
  // A browser opens connections ahead of time. Node counts one that never sent a byte as busy.
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

  /** Connections that the kernel has taken for us are accepted first; a closed listener would reset them. */
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
    // Before anything else, so that little time is left for further ones. The listener alone: http's own close() would cut idle
    // connections at once.
    const ended = new Promise((resolve) => Listener.prototype.close.call(server, resolve))
    isClosing = true
    for (const response of unanswered) response.shouldKeepAlive = false
    // A process that was held up runs its timers before it reads the requests that came meanwhile.
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
