import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { getAuth, optionalAuth, requireAuth } from './node.ts'
import { buildAuth, CLAIMS, signToken } from './test-tokens.ts'

// Only what is specific to bare Node. What all guards share is in guards.test.ts.

const auth = buildAuth()

async function serve(listener: RequestListener): Promise<(token?: string) => Promise<Response>> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return (token) =>
    fetch(`http://127.0.0.1:${port}`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } })
}

test('one guard protects many handlers, and each runs only with a valid token', async () => {
  const guard = requireAuth(auth)
  const [list, drop] = [
    guard((request, response) => response.end(getAuth(request).userId)),
    guard((_, response) => response.end('gone')),
  ]
  const ask = await serve((request, response) => void (request.method === 'DELETE' ? drop : list)(request, response))
  expect(await (await ask(signToken())).text()).toBe(CLAIMS.uid)
  expect((await ask()).status).toBe(401)
})

test('a guard without a handler throws instead of never answering', () => {
  for (const guard of [requireAuth(auth), optionalAuth(auth)])
    expect(() => guard({ url: '/' } as never)).toThrow(/requireAuth\(auth\)\(handler\)/)
})

test('an assertion that fails after the answer has begun is thrown, because the answer cannot be taken back', async () => {
  const failures: unknown[] = []
  const listener = requireAuth(auth)((request, response) => {
    response.write('begun')
    getAuth(request).assert('invoices:void')
  })
  const ask = await serve((request, response) => {
    listener(request, response).catch((error) => {
      failures.push(error)
      response.destroy()
    })
  })
  await expect(ask(signToken()).then((answer) => answer.text())).rejects.toThrow()
  expect(failures).toEqual([expect.objectContaining({ code: 'PERMISSION_DENIED' })])
})
