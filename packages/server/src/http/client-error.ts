import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { type ErrorCode, errorCodes } from '../errors.ts'
import { STATUS_CODES } from './node-http.ts'

const codes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Answers input that is not HTTP, or too slow, with the usual JSON error. Node would answer without a body. */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) return socket.destroy()
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
