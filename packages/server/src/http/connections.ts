import { randomUUID } from 'node:crypto'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { Server as Listener, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ErrorCode, errorCodes } from '../errors.ts'

/**
 * Taken from `process` instead of imported. An import reads every export of a built-in module, and one export of `node:http`
 * loads all of fetch, which takes a tenth of a second of each start, and memory. `http/router.ts`, `http/speak/reply.ts` and
 * `adapters/mailer.ts` avoid it too: the first that loaded it would undo the others.
 */
export const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http')

const codes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/**
 * Answers input that is not HTTP, or too slow, with the usual JSON error. Node would answer without a body. Closes the connection
 * without an answer where a client, or a proxy that shares the connection among clients, would take it for that to another
 * request.
 */
export function answerClientErrors(server: Server): void {
  const latest = new WeakMap<Socket, ServerResponse>()
  server.prependListener('request', (request, response) => {
    latest.set(request.socket, response)
    // HTTP/1.0 has no chunks, so a proxy may see the end of this request elsewhere than Node does (RFC 9112, section 6.1).
    if (request.httpVersion === '1.0' && request.headers['transfer-encoding'] !== undefined) response.shouldKeepAlive = false
  })
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable || wouldBeMistaken(latest.get(socket))) return socket.destroy()
    const code = codes[error.code ?? ''] ?? 'malformed_request'
    const { status, title } = errorCodes[code]
    const requestId = randomUUID()
    const body = JSON.stringify({ status, code, title, detail: null, request_id: requestId })
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'X-Content-Type-Options: nosniff',
      'Connection: close',
    ]
    return socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  })
}

/** Whether the latest request of a connection still waits for its answer, or has one although its own body is at fault. */
function wouldBeMistaken(latest: ServerResponse | undefined): boolean {
  if (!latest) return false
  return latest.req.complete ? !latest.writableFinished : latest.headersSent
}

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

/** Browsers and proxies wait for each answer. Other clients may send a few requests ahead. */
const mostWaiting = 100

/**
 * Answers the requests of a connection one after another, and others meanwhile. Node hands over all that have arrived: 64 KiB
 * hold 1,700, which would hold up everybody for half a second, and whose answers would all be kept until the client reads them.
 * Closes a connection on which more than 100 requests wait.
 */
export function inTurn(listener: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, (readonly [IncomingMessage, ServerResponse])[]>()
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    response.once('close', () => {
      if (lines.get(socket)?.length) setImmediate(answerNext, socket)
      else lines.delete(socket)
    })
    listener(request, response)
  }
  const answerNext = (socket: Socket) => {
    const waiting = lines.get(socket) ?? []
    // Node tells only the response whose turn it is that the connection is gone.
    if (socket.destroyed) for (const [, response] of waiting.splice(0)) response.emit('close')
    const next = waiting.shift()
    if (next) answer(...next)
    else lines.delete(socket)
  }
  return (request, response) => {
    const { socket } = request
    const waiting = lines.get(socket)
    if (!waiting) {
      lines.set(socket, [])
      answer(request, response)
      return
    }
    waiting.push([request, response])
    if (waiting.length > mostWaiting) socket.destroy()
  }
}
