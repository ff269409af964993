import { describe, expect, test } from 'vitest'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildUser, type Json, PASSWORD, type Reply } from '../support/service.ts'

const service = serviceFixture()
const app = appFixture(service)

describe('request ids', () => {
  test.each(['a', 'Aa0._-', 'x'.repeat(128), '550e8400-e29b-41d4-a716-446655440000', '...', '-'])(
    'the request id %s is kept',
    async (id) => {
      for (const path of ['/health', '/auth/me', '/nothing']) {
        const { headers, body } = await service.call('GET', path, { headers: { 'x-request-id': id } })
        expect(headers.get('x-request-id')).toBe(id)
        if (path !== '/health') expect(body.request_id).toBe(id)
      }
    },
  )

  test.each(['', 'x'.repeat(129), 'a b', 'a,b', 'a/b', 'ü', '<script>', 'a;b', '{"x":1}', '%0a'])(
    'the request id %j is replaced',
    async (id) => {
      const headers = { 'x-request-id': Buffer.from(id).toString('latin1') }
      const first = await rawCall(service.url, 'GET', '/api/v1/health', { headers })
      const second = await rawCall(service.url, 'GET', '/api/v1/health', { headers })
      expect(first.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
      expect(second.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'))
    },
  )

  test('two request ids are replaced by one', async () => {
    const reply = await rawCall(service.url, 'GET', '/api/v1/health', { headers: { 'x-request-id': ['one', 'two'] } })
    expect(reply.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  test('the audit names the request by its id, its address and its user agent', async () => {
    const headers = { 'x-request-id': 'audited-1', 'user-agent': 'a test', 'x-forwarded-for': '192.0.2.7' }
    await service.call('POST', '/auth/login', {
      headers,
      body: { email: 'nobody@example.com', password: PASSWORD, app_code: app.code },
    })
    const events = await service.deps.db('audit_events').where({ request_id: 'audited-1' })
    expect(events).toMatchObject([{ event: 'login.failed', user_agent: 'a test', ip: '127.0.0.1' }])
  })

  test('a user agent of any length and content is cut for storage and does no harm', async () => {
    const headers = { 'x-request-id': 'audited-2', 'user-agent': `${'x'.repeat(5_000)}` }
    const body = { email: 'nobody@example.com', password: PASSWORD, app_code: app.code }
    expectError(await service.call('POST', '/auth/login', { headers, body }), 'invalid_credentials')
    const [event] = await service.deps.db('audit_events').where({ request_id: 'audited-2' })
    expect(event.user_agent).toHaveLength(500)
  })
})

describe('headers and bodies of answers', () => {
  test('every answer has the common headers, whatever its status', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const replies: Reply[] = [
      await service.call('GET', '/health'),
      await service.call('GET', '/openapi.json'),
      await service.call('GET', '/auth/me', { token }),
      await service.admin('POST', '/admin/apps', { body: { code: 'headers', name: 'Headers' } }),
      await service.admin('GET', '/admin/apps'),
      await service.admin('GET', `/admin/users/${user.id}`),
      await service.admin('DELETE', '/admin/apps/headers'),
      await service.login(user.email, app.code),
    ]
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200, 201, 200, 200, 204, 200])
    for (const reply of replies) expectHeaders(reply)
  })

  test('an answer with tokens, or their refusal, is not cached', async () => {
    const email = 'no-store@example.com'
    const registered = await service.register(email, app.code)
    const replies = [
      registered,
      await service.register(email, app.code),
      await service.register('no', app.code),
      await service.login(email, app.code),
      await service.login(email, 'no-such-app'),
      await service.call('POST', '/auth/login', { body: '{' }),
      await service.call('POST', '/auth/login', { body: '{}', headers: { 'content-type': 'text/plain' } }),
      await service.call('POST', '/auth/refresh', { body: { refresh_token: registered.body.refresh_token } }),
      await service.call('POST', '/auth/refresh', { body: { refresh_token: 'grt_nothing' } }),
      await service.call('GET', '/auth/me', { token: registered.body.access_token }),
      await service.call('GET', '/auth/me'),
    ]
    expect(replies.map((reply) => reply.status)).toEqual([201, 409, 400, 200, 404, 400, 415, 200, 401, 200, 401])
    for (const reply of replies) expect(reply.headers.get('cache-control')).toBe('no-store')
  })

  test('a 204 has no body', async () => {
    await service.admin('POST', '/admin/apps', { body: { code: 'gone', name: 'Gone' } })
    const reply = await service.admin('DELETE', '/admin/apps/gone')
    expect(reply.status).toBe(204)
    expect(reply.body).toBe('')
    expect(reply.headers.get('content-type')).toBeNull()
  })

  test('HEAD is GET without the body', async () => {
    const reply = await rawCall(service.url, 'HEAD', '/api/v1/health')
    expect(reply.status).toBe(200)
    expectHeaders(reply)
    expect(reply.body).toBe('')
  })
})

describe('public routes and unused input', () => {
  test('a public route ignores a bearer that it does not use', async () => {
    const email = 'bearer@example.com'
    for (const authorization of ['Bearer garbage', 'Bearer ..', 'Basic x', 'Bearer', 'nonsense']) {
      const headers = { authorization }
      expectError(
        await service.call('POST', '/auth/login', {
          headers,
          body: { email: 'x@example.com', password: PASSWORD, app_code: app.code },
        }),
        'invalid_credentials',
      )
      expect((await service.call('GET', '/health', { headers })).status).toBe(200)
    }
    const body = { email, password: PASSWORD, app_code: app.code }
    expect((await service.call('POST', '/auth/register', { token: 'garbage', body })).status).toBe(201)
    expect((await service.call('POST', '/auth/login', { token: 'garbage', body })).status).toBe(200)
  })

  test('a public route accepts unknown members, even those that JavaScript finds special', async () => {
    const special =
      '"__proto__":{"mode":"register_or_return","role_code":5,"polluted":true},"constructor":{"prototype":{"polluted":true}},"prototype":[1],"toString":1,"hasOwnProperty":null'
    const body = (email: string) =>
      `{"email":"${email}","password":"${PASSWORD}","app_code":"${app.code}",${special},"campaign":{"__proto__":{"polluted":true}}}`
    const registered = await service.call('POST', '/auth/register', { body: body('proto@example.com') })
    expect(registered.status).toBe(201)
    expect(registered.body.created).toBe(true)
    expect((await service.call('POST', '/auth/login', { body: body('proto@example.com') })).status).toBe(200)
    expect(({} as Json).polluted).toBeUndefined()
  })

  test('a public route reads no member of `__proto__` as its own', async () => {
    const body = `{"__proto__":{"email":"x@example.com","password":"${PASSWORD}","app_code":"${app.code}"}}`
    const reply = await service.call('POST', '/auth/login', { body })
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['email: required', 'password: required'])
  })

  test('a public route treats a missing body as an empty one', async () => {
    for (const path of ['/auth/login', '/auth/register', '/auth/refresh', '/auth/logout']) {
      const without = await rawCall(service.url, 'POST', `/api/v1${path}`)
      const empty = await service.call('POST', path, { body: {} })
      expectError(without, 'validation_failed', path)
      expect(faultsOf(without)).toEqual(faultsOf(empty))
      expect(faultsOf(without).every((fault) => fault.endsWith(': required'))).toBe(true)
      // An empty body that is announced: chunked, or with a length of zero.
      const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked' }
      expectError(await rawCall(service.url, 'POST', `/api/v1${path}`, { headers }), 'validation_failed', path)
      expectError(
        await rawCall(service.url, 'POST', `/api/v1${path}`, { headers: { 'content-length': '0' } }),
        'validation_failed',
        path,
      )
    }
  })

  test('a public route ignores a query that it does not have', async () => {
    expect((await service.call('GET', '/health?x=%00&x=1&__proto__=2')).status).toBe(200)
    expectError(await service.call('GET', '/auth/me?x=%00'), 'token_missing')
    const { access_token: token } = await buildUser(service, app)
    expect((await service.call('GET', '/auth/me?x=%00', { token })).status).toBe(200)
  })
})

test('an error reveals neither the input nor how the service is built', async () => {
  const replies = [
    await service.call('POST', '/auth/login', { body: { email: 5, password: ['a secret of mine'], app_code: { a: 1 } } }),
    await service.call('POST', '/auth/login', { body: '{"password":"a secret of mine' }),
    await service.call('GET', '/auth/me', { token: 'a.secret-of-mine.x' }),
    await service.admin('POST', '/admin/apps', {
      body: { code: 'x', name: 'X', webhooks: [{ name: 'a', url: 'https://a.example', secret: 'a secret of mine' }] },
    }),
  ]
  for (const reply of replies) {
    expect(reply.status).toBeGreaterThanOrEqual(400)
    expect(JSON.stringify(reply.body)).not.toMatch(/secret.of.mine|node_modules|\.ts:|zod|knex|koa/i)
  }
})
