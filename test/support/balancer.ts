// A load balancer: sends requests to the servers in turn, over keep-alive connections. With `asksReady` it skips servers whose
// /ready is not 200. It retries a request on another server only if a new connection was refused or reset before an answer began.
// Every other failure is answered with 502.
import { randomUUID } from 'node:crypto'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import { callHttp } from './client.ts'

/** Shorter than the time after which our servers close an idle connection. */
const keepMs = 250
const askMs = 50

export interface Balancer {
  url: string
  /** The requests that were answered with 502, and why. */
  faults: string[]
  /** The requests that were retried on another server after a connection was refused or reset, and why. */
  repeated: string[]
  /** Whether the balancer currently skips this server. */
  isOut(server: string): boolean
}

export async function startBalancer(servers: readonly string[], { asksReady = false } = {}): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true, timeout: keepMs })
  const faults: string[] = []
  const repeated: string[] = []
  const isOut: Balancer['isOut'] = asksReady ? watch(servers) : () => false
  let turn = 0
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const id = randomUUID()
    turn += 1
    const inTurn = servers.map((_, index) => servers[(turn + index) % servers.length]!).filter((server) => !isOut(server))
    for (const server of inTurn) {
      const fault = await pass(server, agent, id, incoming, body, outgoing)
      if (fault === undefined) return
      const told = `${incoming.method} ${incoming.url}: ${fault.code ?? fault.message} on a ${fault.connection} connection`
      const isRepeatable = fault.connection === 'new' && ['ECONNREFUSED', 'ECONNRESET', 'EPIPE'].includes(fault.code ?? '')
      if (!isRepeatable || outgoing.headersSent || server === inTurn.at(-1)) {
        faults.push(told)
        break
      }
      repeated.push(told)
    }
    if (inTurn.length === 0) faults.push(`${incoming.method} ${incoming.url}: no server is ready`)
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(502).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, faults, repeated, isOut }
}

/** Polls /ready of each server until the test ends. The result says whether a server's last answer was anything but 200. */
function watch(servers: readonly string[]): Balancer['isOut'] {
  const out = new Set<string>()
  let isOver = false
  const ask = async (server: string) => {
    while (!isOver) {
      const status = await callHttp(`${server}/api/v1/ready`, 'GET').then(
        (reply) => reply.status,
        () => 0,
      )
      if (status === 200) out.delete(server)
      else out.add(server)
      await sleep(askMs)
    }
  }
  const asking = servers.map(ask)
  onTestFinished(async () => {
    isOver = true
    await Promise.all(asking)
  })
  return (server) => out.has(server)
}

interface Fault extends NodeJS.ErrnoException {
  connection?: 'kept' | 'new'
}

/** Forwards a request to a server and its answer to the client. Resolves with the error if that failed. */
function pass(
  origin: string,
  agent: Agent,
  id: string,
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<Fault | undefined> {
  return new Promise((resolve) => {
    const fail = (error: Error) => resolve(Object.assign(error, { connection: asked.reusedSocket ? 'kept' : 'new' } as const))
    const { hostname, port } = new URL(origin)
    const { connection: _, 'transfer-encoding': __, ...headers } = incoming.headers
    const asked = request({
      agent,
      hostname,
      port,
      method: incoming.method,
      path: incoming.url,
      headers: { ...headers, 'content-length': String(body.length), 'x-request-id': id },
    })
    asked.on('error', fail)
    asked.on('response', (answer) => {
      const { connection: _, 'keep-alive': __, ...answerHeaders } = answer.headers
      answer.on('error', fail)
      outgoing.writeHead(answer.statusCode!, answerHeaders)
      answer.pipe(outgoing)
      outgoing.on('finish', () => resolve(undefined))
    })
    asked.end(body)
  })
}
