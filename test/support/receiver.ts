// A server that webhooks are sent to. It answers as the test wants: well, badly, or never.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Received {
  path: string
  headers: IncomingHttpHeaders
  /** Names as they came over the wire. */
  headerNames: string[]
  body: string
  /** When it arrived by the server's clock, in milliseconds. */
  at: number
}

export interface Receiver {
  url: string
  requests: Received[]
  /** Sockets that are open now. */
  open(): number
  /** Requests that have no complete answer yet and whose socket is still open. */
  unanswered(): number
}

export type Answer = (response: ServerResponse, request: Received, turn: number) => void

/** Starts a receiver, which answers 204 by default. */
export async function startReceiver(
  answer: Answer = (response) => void response.writeHead(204).end(),
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
): Promise<Receiver> {
  const requests: Received[] = []
  const sockets = new Set<Socket>()
  const waiting = new Set<ServerResponse>()
  const server = createServer(async (message: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    waiting.add(response)
    response.on('close', () => waiting.delete(response))
    response.on('error', () => {})
    try {
      for await (const chunk of message) chunks.push(chunk)
    } catch {
      return
    }
    const request: Received = {
      path: message.url ?? '',
      headers: message.headers,
      headerNames: message.rawHeaders.filter((_, index) => index % 2 === 0),
      body: Buffer.concat(chunks).toString(),
      at: Date.now(),
    }
    requests.push(request)
    answer(response, request, requests.length)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onEnd(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    open: () => sockets.size,
    unanswered: () => waiting.size,
  }
}

/** Accepts the request and never answers. */
export const hang: Answer = () => {}
