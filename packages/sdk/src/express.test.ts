import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type Express } from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { getAuth, optionalAuth, requireAuth } from './express.ts'
import { buildAuth, CLAIMS, signToken } from './test-tokens.ts'

// Only what is specific to Express. What all guards share is in guards.test.ts.

const auth = buildAuth()

async function serve(app: Express): Promise<(path: string, init?: RequestInit) => Promise<Response>> {
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const authorization = `Bearer ${signToken()}`
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization }, ...init })
}

test('a guard of the app protects its routers, and a stricter guard of a route applies too', async () => {
  const invoices = express.Router()
  invoices.get('/', (request, response) => void response.json({ user: getAuth(request).userId }))
  invoices.delete('/', requireAuth(auth, { permissions: ['invoices:void'] }), (_, response) => void response.sendStatus(204))
  const ask = await serve(express().use(requireAuth(auth)).use('/invoices', invoices))
  expect(await (await ask('/invoices')).json()).toEqual({ user: CLAIMS.uid })
  expect((await ask('/invoices', { method: 'DELETE' })).status).toBe(403)
  expect((await ask('/invoices', { headers: {} })).status).toBe(401)
})

test('a request without a token is refused before its body is parsed', async () => {
  const app = express().use(requireAuth(auth)).use(express.json())
  const ask = await serve(app)
  const headers = { 'content-type': 'application/json' }
  expect((await ask('/', { method: 'POST', headers, body: '{' })).status).toBe(401)
})

test('a failed assertion is answered 403 with a challenge and without the hint, even without authErrorHandler', async () => {
  const app = express().set('env', 'test').use(requireAuth(auth))
  app.get('/', (request) => getAuth(request).assert('invoices:void'))
  const answer = await (await serve(app))('/')
  expect(answer.status).toBe(403)
  expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="insufficient_scope"')
  expect(await answer.text()).not.toContain('invoices:void')
})

test('getAuth types the permissions, and behind optionalAuth also that there may be no principal', async () => {
  const app = express().use(optionalAuth(auth))
  app.get('/', (request, response) => {
    const principal = getAuth<'invoices:read', undefined>(request)
    // @ts-expect-error misspelt permission
    expect(principal?.has('invoices:raed')).toBe(false)
    // @ts-expect-error perhaps nobody
    response.json({ mayRead: principal.has('invoices:read') })
  })
  expect(await (await (await serve(app))('/')).json()).toEqual({ mayRead: true })
})

test('getAuth throws and says that no guard ran', () => {
  expect(() => getAuth({ headers: {} })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('no guard') }),
  )
})
