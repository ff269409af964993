import { Hono } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { expect, test, vi } from 'vitest'
import { type AuthEnv, optionalAuth, requireAuth } from './hono.ts'
import { createAuth, definePermissions } from './index.ts'
import { CLAIMS, NOW, SECRET, signToken } from './test-tokens.ts'

// Only what is specific to Hono, without a server, as on Workers. What all guards share is in guards.test.ts.

const auth = createAuth({
  permissions: definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' }),
  appCode: 'billing',
  secret: SECRET,
  issuer: 'gatehouse',
  now: () => NOW * 1000,
  revocation: { mode: 'off' },
})
const headers = { authorization: `Bearer ${signToken()}` }

test('Hono infers the type of the principal, and a misspelt permission does not compile', async () => {
  const app = new Hono()
    .use('/all/*', requireAuth(auth))
    .get('/all/read', (c) => c.json({ user: c.var.auth.userId, mayRead: c.var.auth.has('invoices:read') }))
    // @ts-expect-error misspelt permission
    .get('/all/misspelt', (c) => c.json({ mayRead: c.var.auth.has('invoices:raed') }))
    .get('/one', requireAuth(auth, { permissions: ['invoices:read'] }), (c) => c.json({ user: c.get('auth').userId }))
  expect(await (await app.request('/all/read', { headers })).json()).toEqual({ user: CLAIMS.uid, mayRead: true })
  expect(await (await app.request('/all/misspelt', { headers })).json()).toEqual({ mayRead: false })
  expect(await (await app.request('/one', { headers })).json()).toEqual({ user: CLAIMS.uid })
  expect((await app.request('/one')).status).toBe(401)
})

test('the principal behind optionalAuth may be undefined by its type', async () => {
  const app = new Hono().get('/', optionalAuth(auth), (c) => {
    // @ts-expect-error perhaps nobody
    const mayRead = () => c.var.auth.has('invoices:read')
    return c.json({ mayRead: c.var.auth !== undefined && mayRead() })
  })
  expect(await (await app.request('/')).json()).toEqual({ mayRead: false })
  expect(await (await app.request('/', { headers })).json()).toEqual({ mayRead: true })
})

test('a failed assertion is answered 403, also in an app without an error handler', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {})
  const app = new Hono<AuthEnv>().use(requireAuth(auth)).get('/', (c) => {
    c.var.auth.assert('invoices:void')
    return c.text('reached')
  })
  const answer = await app.request('/', { headers })
  logged.mockRestore()
  expect(answer.status).toBe(403)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(await answer.json()).toMatchObject({ code: 'permission_denied' })
})

test('an error handler of the app decides how a failed assertion is answered', async () => {
  const app = new Hono<AuthEnv>().use(requireAuth(auth)).get('/', (c) => {
    c.var.auth.assert('invoices:void')
    return c.text('reached')
  })
  app.onError((_, c) => c.text('not for you', 404))
  expect(await (await app.request('/', { headers })).text()).toBe('not for you')
})

test('exceptions of the app pass unchanged', async () => {
  const app = new Hono().use(requireAuth(auth)).get('/', () => {
    throw new HTTPException(409, { message: 'taken' })
  })
  expect((await app.request('/', { headers })).status).toBe(409)
})
