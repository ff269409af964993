// Bounds on what a caller may send: the parts of a query and of a form are counted before they are parsed.
import { describe, expect, test } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { expectError } from '../support/expect-reply.ts'
import { serviceFixture } from '../support/fixtures.ts'
import { rawCall } from '../support/raw-http.ts'
import { buildService, type Json, type Reply, unique } from '../support/service.ts'

const formType = 'application/x-www-form-urlencoded'
const service = serviceFixture()

/** Every path that answers, with its method; parameters are filled with a word. */
const paths = [
  ...listRoutes().map(({ method, path }): [string, string] => [method, `/api/v1${path.replace(/\{\w+\}/g, 'x')}`]),
  ...listRootRoutes().map(({ method, path }): [string, string] => [method, path.replace('{file}', 'init.js')]),
]

const pages = listRootRoutes()
  .filter(({ method, speaks }) => method === 'POST' && speaks === 'page')
  .map(({ path }) => path)

function expectFault(reply: Reply, code: string, message: string): void {
  expect(reply.status).toBe(400)
  // Pages answer with a page.
  if (reply.body.title === undefined && reply.body.error !== undefined) expect(reply.body.error_description).toContain(message)
  else if (typeof reply.body !== 'string')
    expect(reply.body).toMatchObject({ code: 'validation_failed', errors: [{ path: 'query', code, message }] })
}

describe('a query string', () => {
  test.each(paths)('%s %s accepts at most 100 parameters and 8 KiB', async (method, path) => {
    const many = await rawCall(service.url, method, `${path}?${'a&'.repeat(100)}a`)
    expectFault(many, 'too_long', 'must have at most 100 parameters')
    const long = await rawCall(service.url, method, `${path}?a=${'x'.repeat(8 * 1024 - 1)}`)
    expectFault(long, 'too_long', 'must have at most 8192 bytes')
  })

  test('a query of exactly 100 parameters or 8 KiB is read', async () => {
    for (const query of ['a&'.repeat(99), `a=${'x'.repeat(8 * 1024 - 2)}`]) {
      expect((await rawCall(service.url, 'GET', `/api/v1/health?${query}`)).status).toBe(200)
      const { body } = await service.admin('GET', `/admin/apps?${query}`)
      expect(body.errors.map(({ path }: Json) => path)).toEqual(['a'])
    }
  })

  test('a query keeps names such as __proto__, and lists the values of a repeated name', async () => {
    const { body } = await service.admin('GET', '/admin/apps?__proto__=1&constructor=2&limit=1&limit=2')
    expect(body.errors).toEqual([
      { path: 'limit', code: 'invalid_type', message: 'must be a string' },
      { path: '__proto__', code: 'unknown_field', message: 'is not a field of this request' },
      { path: 'constructor', code: 'unknown_field', message: 'is not a field of this request' },
    ])
  })
})

describe('a form body', () => {
  const fields = (count: number): string => Array.from({ length: count }, (_, index) => `f${index}=`).join('&')
  const post = (path: string, body: string): Promise<Reply> =>
    rawCall(service.url, 'POST', path, { headers: { 'content-type': formType, 'sec-fetch-site': 'same-origin' }, chunks: [body] })

  test.each(pages)('%s accepts at most 50 fields', async (path) => {
    expect((await post(path, `token=x&${fields(50)}`)).body).toContain('This form cannot be read')
  })

  test('/auth/token and /auth/introspect accept at most 50 fields', async () => {
    const scopes = ['tokens:introspect', 'tokens:issue']
    const account = { name: 'caller', service: 'caller', scopes, app_codes: ['authctl'] }
    const { token } = (await service.admin('POST', '/admin/service-accounts', { body: account })).body
    for (const path of ['/auth/token', '/auth/introspect']) {
      const headers = { 'content-type': formType, authorization: `Bearer ${token}` }
      const reply = await rawCall(service.url, 'POST', `/api/v1${path}`, { headers, chunks: [fields(51)] })
      expectError(reply, 'invalid_json')
      expect(reply.body.detail).toBe('The form has more than 50 fields')
    }
  })
})

test('a call with a client secret counts by address before its body is read, unless the secret is right', async () => {
  const limited = await buildService({ AUTH_RATE_LIMIT_IP: '3/60' })
  const admin = await limited.admin('POST', '/admin/service-accounts', {
    body: { name: 'caller', service: 'caller', scopes: ['tokens:introspect'], app_codes: ['authctl'] },
  })
  const client_secret = admin.body.token
  await limited.deps.db('rate_limits').delete()
  const introspect = (body: object): Promise<Reply> => limited.call('POST', '/auth/introspect', { body: { token: 'x', ...body } })
  for (let i = 0; i < 4; i += 1) expect((await introspect({ client_secret })).status).toBe(200)
  for (let i = 0; i < 3; i += 1) expectError(await introspect({}), 'token_missing')
  for (const path of ['/auth/introspect', '/auth/token']) {
    const refused = await limited.call('POST', path, { body: '{' })
    expectError(refused, 'rate_limited')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  }
  expectError(await limited.call('POST', '/auth/introspect', { token: 'garbage', body: { token: 'x' } }), 'rate_limited')
  expect((await limited.call('POST', '/auth/introspect', { token: client_secret, body: { token: 'x' } })).status).toBe(200)
})

describe('a list of permissions', () => {
  const register = async (scopes: string[], body: string): Promise<Reply> => {
    const name = unique('caller')
    const { token } = (await service.admin('POST', '/admin/service-accounts', { body: { name, service: 'shop', scopes } })).body
    return service.call('POST', '/admin/permissions/register', { token, body })
  }

  test('the list of a service account without the scope is not read', async () => {
    expectError(await register([], '{'), 'scope_required')
  })

  test('the list for another service than the caller’s is not validated', async () => {
    const permissions = JSON.stringify(Array.from({ length: 6_000 }, () => 'x'))
    expectError(await register(['permissions:register'], `{"service":"other","permissions":${permissions}}`), 'service_mismatch')
  })

  test('a list with the longest escaped codes and names is accepted, and a body with more values is not parsed', async () => {
    const permissions = Array.from({ length: 5_000 }, (_, index) => {
      const [resource, action] = [`r${index}`.padEnd(99, 'a'), 'b'.repeat(100)]
      return `{"code":"${resource}:${action}","name":"${'\\u4e2d'.repeat(200)}","resource":"${resource}","action":"${action}"}`
    })
    const body = (list: string) => `{"service":"shop","permissions":[${list}]}`
    const taken = await register(['permissions:register'], body(permissions.join()))
    expect([taken.status, taken.body.created]).toEqual([200, 5_000])
    for (const unit of ['[],', '{},', '0,', '"",']) {
      const refused = await register(['permissions:register'], body(`${unit.repeat(10_000_000 / unit.length)}0`))
      expectError(refused, 'invalid_json')
      expect(refused.body.detail).toBe('The body has more than 100000 values')
    }
  })

  test('the entries of a list are counted before they are validated', async () => {
    const reply = await register(['permissions:register'], `{"service":"shop","permissions":[${'0,'.repeat(50_000)}0]}`)
    expectError(reply, 'validation_failed')
    expect(reply.body.errors).toEqual([{ path: 'permissions', code: 'too_long', message: 'must have at most 5000 entries' }])
  })
})

test('blank lines of an import cost no more than blanks in one line', async () => {
  const headers = { 'content-type': 'application/x-ndjson' }
  // The least of several: other work of the process, such as garbage collection, only adds to one.
  const costOf = async (blanks: string) => {
    const costs: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const before = process.cpuUsage()
      const { body } = await service.admin('POST', '/admin/users/import', {
        body: blanks.repeat(4_000_000 / blanks.length),
        headers,
      })
      const { user, system } = process.cpuUsage(before)
      expect(body).toMatchObject({ imported: 0, failed: 0 })
      costs.push(user + system)
    }
    return Math.min(...costs)
  }
  const inOneLine = await costOf(' ')
  for (const lines of ['\n', ' \n']) expect((await costOf(lines)) / inOneLine).toBeLessThan(5)
})

test('an answer lists at most 100 faults', async () => {
  const body = { code: 'many-faults', name: 'Many', ...Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, 1])) }
  const reply = await service.admin('POST', '/admin/apps', { body })
  expectError(reply, 'validation_failed')
  expect(reply.body.errors).toHaveLength(100)
})
