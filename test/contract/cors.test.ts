import { beforeAll, describe, expect, test } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { isOpenToBrowsers } from '../../packages/server/src/http/router.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildService, buildUser, type Reply, type TestService } from '../support/service.ts'

const ORIGIN = 'https://spa.example.com'
const EXPOSED = 'X-Request-Id, Retry-After, WWW-Authenticate'

const service = serviceFixture()
const app = appFixture(service)

function corsOf({ headers }: Reply): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')))
}

function preflight(target: TestService, path: string, method: string, origin = ORIGIN): Promise<Reply> {
  return rawCall(target.url, 'OPTIONS', path, {
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,x-other',
    },
  })
}

const open = { 'access-control-allow-origin': '*', 'access-control-expose-headers': EXPOSED }

describe('requests from any origin', () => {
  test('a browser may read every answer of /auth, errors too', async () => {
    const headers = { origin: ORIGIN }
    const { user, access_token: token } = await buildUser(service, app)
    const replies = [
      await service.call('POST', '/auth/login', {
        headers,
        body: { email: user.email, password: 'correct horse battery staple', app_code: app.code },
      }),
      await service.call('GET', '/auth/me', { headers, token }),
      await service.call('POST', '/auth/login', { headers, body: {} }),
      await service.call('POST', '/auth/login', { headers, body: '{' }),
      await service.call('POST', '/auth/login', { headers, body: 'x'.repeat(70_000) }),
      await service.call('POST', '/auth/login', { headers: { ...headers, 'content-type': 'text/plain' }, body: 'x' }),
      await service.call('GET', '/auth/me', { headers }),
      await service.call('GET', '/auth/me', { headers, token: 'garbage' }),
      await service.call('GET', '/auth/login', { headers }),
      await service.call('GET', '/auth/nothing', { headers }),
      await service.call('GET', '/auth', { headers }),
      await service.call('GET', '/organizations/none', { headers }),
      await service.call('OPTIONS', '/auth/login', { headers }),
    ]
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 400, 400, 413, 415, 401, 401, 405, 404, 404, 404, 405])
    for (const reply of replies) expect(corsOf(reply)).toEqual(open)
  })

  test('an answer has CORS headers for a request without an origin and for an unknown path too', async () => {
    expect(corsOf(await service.call('POST', '/auth/login', { body: {} }))).toEqual(open)
    for (const path of ['/api/v1/auth/%', '/api/v1/auth/%00', '/api/v1/auth/%C0%AF']) {
      const reply = await rawCall(service.url, 'GET', path, { headers: { origin: 'null' } })
      expectError(reply, 'not_found')
      expect(corsOf(reply)).toEqual(open)
    }
  })

  test('a preflight is 204 with the methods of the path', async () => {
    const reply = await preflight(service, '/api/v1/auth/login', 'POST')
    expect(reply.status).toBe(204)
    expect(reply.body).toBe('')
    expect(corsOf(reply)).toEqual({
      ...open,
      'access-control-allow-methods': 'POST',
      'access-control-allow-headers': 'Authorization, Content-Type, X-Request-Id',
      'access-control-max-age': '600',
    })
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(reply.headers.get('x-content-type-options')).toBe('nosniff')
    expect(corsOf(await preflight(service, '/api/v1/auth/me', 'GET'))['access-control-allow-methods']).toContain('GET')
  })

  test('a preflight needs no token, and a path need not exist', async () => {
    for (const path of ['/api/v1/auth/nothing', '/api/v1/auth/%00', '/api/v1/organizations/x/members']) {
      expect((await preflight(service, path, 'DELETE')).status).toBe(204)
    }
  })

  test('credentials are never allowed', async () => {
    const replies = [
      await preflight(service, '/api/v1/auth/login', 'POST'),
      await service.call('POST', '/auth/login', { body: {}, headers: { origin: ORIGIN } }),
    ]
    for (const reply of replies) expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
  })
})

test('only the routes of /auth and /organizations and those of standard clients are declared open to browsers', () => {
  const ofApps = listRoutes().filter(({ path }) => /^\/(auth|organizations)\//.test(path))
  const ofStandardClients = [
    ...['/oauth/token', '/oauth/revoke', '/oauth/userinfo', '/oauth/userinfo', '/oauth/jwks'],
    ...['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
  ]
  expect(listRoutes().filter(isOpenToBrowsers)).toEqual(ofApps)
  expect(
    listRootRoutes()
      .filter(isOpenToBrowsers)
      .map(({ path }) => path),
  ).toEqual(ofStandardClients)
})

test('no other route has CORS headers, for preflights too', async () => {
  const headers = { origin: ORIGIN }
  for (const path of [
    '/health',
    '/ready',
    '/openapi.json',
    '/admin/apps',
    '/admin/nothing',
    '/authx',
    '/AUTH/login',
    '/nothing',
    '/../api/v1/auth',
  ]) {
    expect(corsOf(await rawCall(service.url, 'GET', `/api/v1${path}`, { headers })), path).toEqual({})
    const reply = await preflight(service, `/api/v1${path}`, 'GET')
    expect([404, 405], path).toContain(reply.status)
    expect(corsOf(reply), path).toEqual({})
  }
  expect(corsOf(await service.admin('GET', '/admin/apps', { headers }))).toEqual({})
})

describe('AUTH_CORS_ORIGINS', () => {
  let narrow: TestService
  beforeAll(async () => {
    narrow = await buildService({ AUTH_CORS_ORIGINS: `${ORIGIN}, http://localhost:5173` }, onFileEnd)
  })

  test.each([ORIGIN, 'http://localhost:5173'])('the origin %s is allowed by name', async (origin) => {
    const reply = await narrow.call('POST', '/auth/login', { body: {}, headers: { origin } })
    expect(corsOf(reply)).toEqual({ ...open, 'access-control-allow-origin': origin })
    expect(reply.headers.get('vary')).toMatch(/\borigin\b/i)
    const asked = await preflight(narrow, '/api/v1/auth/login', 'POST', origin)
    expect(asked.status).toBe(204)
    expect(corsOf(asked)['access-control-allow-origin']).toBe(origin)
  })

  test.each([
    'https://evil.example',
    'https://spa.example.com.evil.example',
    'https://spa.example.com:444',
    'http://spa.example.com',
    'https://SPA.example.com',
    'https://spa.example.com/',
    'null',
    '*',
    'https://spa.example.com, http://localhost:5173',
  ])('the origin %s is not allowed', async (origin) => {
    const reply = await narrow.call('POST', '/auth/login', { body: {}, headers: { origin } })
    expect(reply.status).toBe(400)
    expect(corsOf(reply)).toEqual({})
    // A cache must not serve this reply to an allowed origin.
    expect(reply.headers.get('vary')).toMatch(/\borigin\b/i)
    expect(corsOf(await preflight(narrow, '/api/v1/auth/login', 'POST', origin))).toEqual({})
  })

  test('a request without an origin is answered without CORS headers', async () => {
    const reply = await narrow.call('POST', '/auth/login', { body: {} })
    expect(corsOf(reply)).toEqual({})
    expect(reply.headers.get('vary')).toMatch(/\borigin\b/i)
  })

  test('a list without any origin allows none', async () => {
    const closed = await buildService({ AUTH_CORS_ORIGINS: ',' })
    expect(corsOf(await closed.call('POST', '/auth/login', { body: {}, headers: { origin: ORIGIN } }))).toEqual({})
  })
})
