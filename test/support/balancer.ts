// The plainest balancer there is: turn by turn to each server, over connections that are kept, and no look at /ready. It passes a
// request on to the next server only when a connection is refused; whatever else goes wrong is told as 502.
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

export interface Balancer {
  url: string
  /** What was told as 502, and why. */
  faults: string[]
}

export async function startBalancer(servers: readonly string[]): Promise<Balancer> {
  const agent = new Agent({ keepAlive: true })
  const faults: string[] = []
  let turn = 0
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    turn += 1
    const inTurn = [...servers.slice(turn % servers.length), ...servers.slice(0, turn % servers.length)]
    for (const server of inTurn) {
      const fault = await pass(server, agent, incoming, body, outgoing)
      if (fault === undefined) return
      if (fault.code === 'ECONNREFUSED' && server !== inTurn.at(-1)) continue
      faults.push(`${incoming.method} ${incoming.url}: ${fault.code ?? fault.message} on a ${fault.connection} connection`)
      break
    }
    if (outgoing.headersSent) outgoing.destroy()
    else outgoing.writeHead(502).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
    agent.destroy()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, faults }
}

interface Fault extends NodeJS.ErrnoException {
  connection?: 'kept' | 'new'
}

/** Asks a server and hands its answer on; tells what kept it from answering. */
function pass(
  origin: string,
  agent: Agent,
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
      headers: { ...headers, 'content-length': String(body.length) },
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
