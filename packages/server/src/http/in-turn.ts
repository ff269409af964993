import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

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
