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
    for (let tries = 0; tries < servers.length; tries += 1) {
      turn += 1
      const fault = await pass(servers[turn % servers.length]!, agent, incoming, body, outgoing)
      if (fault === undefined) return
      if (fault.code === 'ECONNREFUSED') continue
      faults.push(`${incoming.method} ${incoming.url}: ${fault.code ?? fault.message}`)
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

/** Asks a server and hands its answer on; tells what kept it from answering. */
function pass(
  origin: string,
  agent: Agent,
  incoming: IncomingMessage,
  body: Buffer,
  outgoing: ServerResponse,
): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
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
    asked.on('error', resolve)
    asked.on('response', (answer) => {
      const { connection: _, 'keep-alive': __, ...answerHeaders } = answer.headers
      answer.on('error', resolve)
      outgoing.writeHead(answer.statusCode!, answerHeaders)
      answer.pipe(outgoing)
      outgoing.on('finish', () => resolve(undefined))
    })
    asked.end(body)
  })
}
