import { randomUUID } from 'node:crypto'
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errorCodes } from '../errors.ts'
import { STATUS_CODES } from './node-http.ts'

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
