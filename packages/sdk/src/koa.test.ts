import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import Koa from 'koa'
import { afterEach, expect, test } from 'vitest'
import { createAuth, definePermissions, type PermissionName } from './index.ts'
import { type AuthState, type OptionalAuthState, optionalAuth, requireAuth } from './koa.ts'
import { CLAIMS, NOW, SECRET, signToken } from './test-tokens.ts'

const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
type BillingPermission = PermissionName<typeof permissions>

let currentTokenVersion = 3
const auth = createAuth({
  permissions,
  appCode: 'billing',
  secret: SECRET,
  issuer: 'gatehouse',
  now: () => NOW * 1000,
  revocation: {
    mode: 'custom',
    isCurrent: ({ tv, uid }) => {
      if (uid === 'unknown') throw new Error('no database')
      return tv >= currentTokenVersion
    },
  },
})

const stops: (() => Promise<void>)[] = []
afterEach(async () => {
  currentTokenVersion = 3
  for (const stop of stops.splice(0)) await stop()
})

/** Serves the app; the returned function asks it. */
async function serve(app: Pick<Koa, 'listen' | 'silent'>) {
  app.silent = true
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  stops.push(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as AddressInfo
  return async (token?: string, headers: Record<string, string> = {}) => {
    const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers: { ...authorization, ...headers } })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text.startsWith('{') ? JSON.parse(text) : text }
  }
}

function behind(guard: ReturnType<typeof requireAuth>, onReach: () => void = () => {}) {
  const router = new Router<AuthState<BillingPermission>>()
  router.get('/', guard, (context) => {
    onReach()
    context.body = { user: context.state.auth.userId, mayVoid: context.state.auth.has('invoices:void') }
  })
  return serve(new Koa().use(router.routes()))
}

test('a good token reaches the handler, with its principal in ctx.state.auth', async () => {
  const ask = await behind(requireAuth(auth))
  expect(await ask(signToken())).toMatchObject({ status: 200, body: { user: CLAIMS.uid, mayVoid: false } })
})

test('without a token the answer is 401 in the error shape of the service, with a challenge that names no error', async () => {
  let reached = false
  const ask = await behind(requireAuth(auth), () => {
    reached = true
  })
  const answer = await ask(undefined, { 'x-request-id': 'r-1' })
  expect(answer.status).toBe(401)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
  expect(answer.body).toEqual({
    status: 401,
    code: 'token_missing',
    title: 'Access token is missing',
    detail: 'No access token was sent.',
    request_id: 'r-1',
  })
  expect(reached).toBe(false)
})

test.each([
  ['an expired token', signToken({ exp: NOW - 5 }), 'token_expired'],
  ['a revoked token', signToken({ tv: 2 }), 'token_revoked'],
  ['a forged token', `${signToken().slice(0, -2)}AA`, 'token_invalid'],
  ['the token of another app', signToken({ aud: 'shop', app_code: 'shop' }), 'token_invalid'],
  ['no token at all', 'x', 'token_invalid'],
])('%s is answered with 401 and nothing meant for the developer', async (_, token, code) => {
  const ask = await behind(requireAuth(auth))
  const answer = await ask(token)
  expect(answer.status).toBe(401)
  expect(answer.body).toEqual({ status: 401, code, title: expect.any(String), detail: expect.any(String) })
  expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="invalid_token"')
  expect(answer.text).not.toMatch(/JWT_|SERVICE_APP|billing|hint/)
})

test('a request id that is not one is not given back', async () => {
  const ask = await behind(requireAuth(auth))
  expect((await ask(undefined, { 'x-request-id': '<script>' })).body).not.toHaveProperty('request_id')
})

test('the request id that the app answers with wins over the one that was sent', async () => {
  const app = new Koa()
  app.use(async (context, next) => {
    context.set('X-Request-Id', 'ours')
    await next()
  })
  const ask = await serve(app.use(requireAuth(auth)))
  expect((await ask(undefined, { 'x-request-id': 'theirs' })).body).toMatchObject({ request_id: 'ours' })
})

test.each([
  [{ permissions: ['invoices:read'] }, 200],
  [{ permissions: ['invoices:read', 'invoices:void'] }, 403],
  [{ anyOf: ['invoices:read', 'invoices:void'] }, 200],
  [{ anyOf: ['invoices:void'] }, 403],
  [{ anyOf: [] }, 403],
  [{ role: 'base_user' }, 200],
  [{ role: 'base' }, 403],
  [{ org: 'required' }, 403],
  [{ permissions: ['invoices:read'], role: 'clerk' }, 403],
] as const)('asking for %j answers %i', async (requirements, status) => {
  const ask = await behind(requireAuth(auth, requirements))
  const answer = await ask(signToken())
  expect(answer.status).toBe(status)
  if (status === 403) {
    expect(answer.body).toEqual({
      status,
      code: 'permission_denied',
      title: 'Permission denied',
      detail: 'The user may not do this.',
    })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="insufficient_scope"')
  }
})

test('a token that speaks for an organization passes where one is required', async () => {
  const ask = await behind(requireAuth(auth, { org: 'required' }))
  expect((await ask(signToken({ org_id: 'o-1', org_slug: 'acme' }))).status).toBe(200)
})

test('an assertion that fails in the handler is answered with 403 too', async () => {
  const router = new Router<AuthState<BillingPermission>>()
  router.get('/', requireAuth(auth), (context) => context.state.auth.assert('invoices:void'))
  const ask = await serve(new Koa().use(router.routes()))
  expect(await ask(signToken())).toMatchObject({ status: 403, body: { code: 'permission_denied' } })
})

test('an error about another token is left to the app', async () => {
  const app = new Koa().use(requireAuth(auth)).use(async () => {
    await auth.verify(signToken({ exp: 1 }))
  })
  const seen: unknown[] = []
  app.on('error', (error) => seen.push(error))
  const answer = await (await serve(app))(signToken())
  expect(answer.body).not.toHaveProperty('code')
})

test('a guard believes no middleware before it', async () => {
  const app = new Koa()
  app.use(async (context, next) => {
    context.state.auth = { userId: 'forged', has: () => true }
    await next()
  })
  app.use(requireAuth(auth, { permissions: ['invoices:read'] }))
  app.use((context) => {
    context.body = { user: context.state.auth.userId }
  })
  const ask = await serve(app)
  expect((await ask()).status).toBe(401)
  expect((await ask(signToken())).body).toEqual({ user: CLAIMS.uid })
})

test('while the app cannot tell what was revoked, the answer is 503 with Retry-After', async () => {
  const ask = await behind(requireAuth(auth))
  const answer = await ask(signToken({ uid: 'unknown' }))
  expect(answer).toMatchObject({ status: 503, body: { status: 503, code: 'unavailable' } })
  expect(answer.headers.get('retry-after')).toBe('1')
})

test('optionalAuth lets a request without a bearer token through, and answers a bad one with 401', async () => {
  const router = new Router<OptionalAuthState<BillingPermission>>()
  router.get('/', optionalAuth(auth), (context) => {
    context.body = { user: context.state.auth?.userId ?? null }
  })
  const ask = await serve(new Koa().use(router.routes()))
  expect(await ask()).toMatchObject({ status: 200, body: { user: null } })
  expect(await ask(undefined, { authorization: 'Basic YTpi' })).toMatchObject({ status: 200, body: { user: null } })
  expect(await ask(signToken())).toMatchObject({ status: 200, body: { user: CLAIMS.uid } })
  expect(await ask(signToken({ exp: 1 }))).toMatchObject({ status: 401, body: { code: 'token_expired' } })
})

test('a guard that is made wrongly stops the program, and does not compile', () => {
  const invalid = expect.objectContaining({ code: 'CONFIG_INVALID' })
  // @ts-expect-error misspelt requirement
  expect(() => requireAuth(auth, { permission: ['invoices:read'] })).toThrow(invalid)
  expect(() => requireAuth(auth, { permissions: undefined })).toThrow(invalid)
  // @ts-expect-error one name instead of a list
  expect(() => requireAuth(auth, { permissions: 'invoices:read' })).toThrow(invalid)
  // @ts-expect-error not a choice
  expect(() => requireAuth(auth, { org: 'optional' })).toThrow(invalid)
  // @ts-expect-error no verifier
  expect(() => requireAuth(undefined)).toThrow(invalid)
  // @ts-expect-error no verifier
  expect(() => optionalAuth({})).toThrow(invalid)
  // @ts-expect-error misspelt permission
  expect(requireAuth(auth, { permissions: ['invoice:read'] })).toBeTypeOf('function')
})
