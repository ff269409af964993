import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { BASE_PATH, listRoutes } from '../../packages/server/src/app.ts'
import type { ErrorCode } from '../../packages/server/src/errors.ts'
import { impliedErrors } from '../../packages/server/src/http/openapi.ts'
import type { Route } from '../../packages/server/src/http/route.ts'
import { isAdminDoor } from '../../packages/server/src/lib/authority.ts'
import { assertionOf } from '../support/consumer.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { dealt } from '../support/lane.ts'
import { rawCall } from '../support/raw-http.ts'
import { ADMIN_EMAIL, buildService, buildUser, claimsOf, type Json, type Reply, testDatabase } from '../support/service.ts'

// Promises that hold for every route. They are tested on each route that app.ts lists, so a new
// route is covered as soon as it is listed.

const usualLimitBytes = 64 * 1024
const hugeBody = Buffer.alloc(10 * 1024 * 1024, 'x')
const routes = listRoutes().map((route) => ({ name: `${route.method} ${route.path}`, route }))
const implying = (code: ErrorCode) => routes.filter(({ route }) => impliedErrors(route).includes(code))
/** Those that take bytes have tests of their own. */
const withJson = (code: ErrorCode) => implying(code).filter(({ route }) => !route.takes)

let user: Json
/** `user` is an org_admin of it. */
let organization: Json
/** Bearer tokens, by whose they are or why they are refused. */
let tokens: Record<'user' | 'admin' | 'adminOfAnotherApp' | 'expired' | 'revoked' | 'account' | 'expiredAccount', string>

const service = serviceFixture({ AUTH_ADMIN_APP_CODES: 'authctl' })
const app = appFixture(service)
beforeAll(async () => {
  const registered = await buildUser(service, app)
  user = registered.user
  organization = (await service.admin('POST', '/admin/organizations', { body: { name: 'Acme' } })).body
  const membership = `/admin/organizations/${organization.id}/members/${user.id}`
  await service.admin('PUT', membership, { body: { role_codes: ['org_admin'] } })
  const admin = (await service.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const seconds = Math.floor(service.deps.clock() / 1000)
  const { accessTokens, sharedKeys } = service.deps
  const signed = (claims: object) => accessTokens.sign({ ...claimsOf(admin), ...claims }, sharedKeys)
  tokens = {
    user: registered.access_token,
    admin,
    adminOfAnotherApp: (await service.login(ADMIN_EMAIL, app.code)).body.access_token,
    expired: signed({ iat: seconds - 100, nbf: seconds - 100, exp: seconds - 1 }),
    revoked: signed({ sid: randomUUID() }),
    account: await buildAccount(),
    expiredAccount: await buildAccount(1),
  }
})

/** The token of a service account that expires at `expires_at`. Default: never. */
async function buildAccount(expires_at: number | null = null): Promise<string> {
  const body = { name: randomUUID(), service: 'caller', scopes: ['tokens:issue'], app_codes: [app.code] }
  const { id, token } = (await service.admin('POST', '/admin/service-accounts', { body })).body
  await service.deps.db('service_accounts').where({ id }).update({ expires_at })
  return token
}

/** The path of a route with `param` for each parameter. Default: ids of things that exist, where the route needs them. */
function pathOf(route: Route, param?: string): string {
  const named: Record<string, string> = {
    userId: user.id,
    appId: app.code,
    organizationId: organization.id,
    namespace: 'default',
    permission: 'users:read_self',
  }
  return route.path.replace(/\{(\w+)\}/g, (_, name) => param ?? named[name as string] ?? randomUUID())
}

/** The query fields that a route requires. */
function requiredQueryOf(route: Route): string {
  if (route.path.endsWith('/collisions')) return '&with=default'
  if (route.path.endsWith('/start')) return `&app_code=shop&redirect_url=https://a.b/&code_challenge=${'x'.repeat(43)}&state=x`
  return route.path.endsWith('/callback') ? '&state=x' : ''
}

function isForConsumers(route: Route): boolean {
  return route.auth.includes('consumer')
}

/** Whether the route reads no user tokens: it refuses even an ended one as `token_invalid`. */
function isForNoUser(route: Route): boolean {
  return isForConsumers(route) || route.auth === 'service_account'
}

/** A token with which a route gets past authentication. */
function tokenFor(route: Route): string | undefined {
  if (route.auth === 'public') return undefined
  if (isForConsumers(route)) return assertionOf(app)
  if (route.auth === 'service_account') return tokens.account
  return route.auth === 'user' ? tokens.user : tokens.admin
}

function bearer(route: Route): Record<string, string> {
  const token = tokenFor(route)
  return token === undefined ? {} : { authorization: `Bearer ${token}` }
}

/** Sends these bytes as the body of a route that takes JSON. */
function post(route: Route, body: unknown, headers: Record<string, string> = {}): Promise<Reply> {
  return service.call(route.method, pathOf(route), { body, token: tokenFor(route), headers })
}

/** To send a body twice: in chunks, and with its length, which `headers` gives. */
function withOrWithout(headers: Record<string, string>): Record<string, string>[] {
  return [{}, headers]
}

/**
 * Headers and methods never reach a database, so SQLite gets all cases and Postgres only the first. Input that could reach a
 * database, such as a NUL, a malformed id or a number too large, is sent to both: they fail on different things.
 */
function onceInFull<T>(cases: readonly T[]): readonly T[] {
  return testDatabase() === 'sqlite' ? dealt(cases) : cases.slice(0, 1)
}

/** Objects around a value, `levels` deep. */
function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}

describe('authentication', () => {
  test.each(implying('token_missing'))('$name answers 401 token_missing without a bearer token', async ({ route }) => {
    const { method } = route
    expectError(await service.call(method, pathOf(route)), 'token_missing')
    for (const authorization of onceInFull(['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', tokens.admin, `Token ${tokens.admin}`])) {
      expectError(await service.call(method, pathOf(route), { headers: { authorization } }), 'token_missing', authorization)
    }
    // A token in the query is not accepted: it would end up in logs and histories.
    expectError(await service.call(method, `${pathOf(route)}?access_token=${tokens.admin}`), 'token_missing')
  })

  test.each(implying('token_invalid'))(
    '$name answers 401 token_invalid to a token that the service did not make',
    async ({ route }) => {
      const claims = claimsOf(tokens.admin)
      const [header, payload, signature] = tokens.admin.split('.')
      const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')
      const forged = {
        garbage: 'garbage',
        'three parts of nothing': '..',
        'not JSON': 'aGFsbG8.aGFsbG8.aGFsbG8',
        'another secret': forgeToken(claims, { secret: 'another secret that is also at least 32 characters' }),
        'no algorithm': `${none}.${payload}.`,
        'no algorithm, signature kept': `${none}.${payload}.${signature}`,
        'no signature': `${header}.${payload}.`,
        'a changed payload': `${header}.${Buffer.from(JSON.stringify({ ...claims, tv: 99 })).toString('base64url')}.${signature}`,
        HS512: forgeToken(claims, { header: { alg: 'HS512' } }),
        'a token of a consumer': forgeToken(claims, { header: { typ: 'consumer+jwt' } }),
        'a critical header': forgeToken(claims, { header: { crit: ['b64'] } }),
        'another issuer': forgeToken({ ...claims, iss: 'someone' }),
        'another audience': forgeToken({ ...claims, aud: 'someone' }),
        'another user': forgeToken({ ...claims, uid: user.id }),
        'another app': forgeToken({ ...claims, app_id: app.id, app_code: app.code }),
        'no uid': forgeToken({ ...claims, uid: undefined }),
        'no sid': forgeToken({ ...claims, sid: undefined }),
        'no tv': forgeToken({ ...claims, tv: undefined }),
        'a sid that is no id': forgeToken({ ...claims, sid: "' or 1=1 --" }),
        'begun in an hour': forgeToken({ ...claims, iat: claims.iat + 3600, nbf: undefined, exp: claims.exp + 3600 }),
        'not valid for an hour': forgeToken({ ...claims, nbf: claims.nbf + 3600, exp: claims.exp + 3600 }),
      }
      for (const [what, token] of dealt(Object.entries(forged))) {
        expectError(await service.call(route.method, pathOf(route), { token }), 'token_invalid', what)
      }
    },
  )

  test.each(implying('token_expired'))('$name answers 401 token_expired to an expired token', async ({ route }) => {
    const seconds = Math.floor(service.deps.clock() / 1000)
    const expiredAssertion = assertionOf(app, { claims: { iat: seconds - 60, exp: seconds - 1 } })
    const ofUser = route.auth === 'service_account' ? tokens.expiredAccount : tokens.expired
    const token = isForConsumers(route) ? expiredAssertion : ofUser
    expectError(await service.call(route.method, pathOf(route), { token }), 'token_expired')
  })

  test.each(implying('token_revoked'))('$name answers 401 token_revoked to the token of an ended session', async ({ route }) => {
    expectError(await service.call(route.method, pathOf(route), { token: tokens.revoked }), 'token_revoked')
  })

  test.each(implying('system_admin_required'))(
    '$name answers 403 system_admin_required to an ordinary user',
    async ({ route }) => {
      expectError(await service.call(route.method, pathOf(route), { token: tokens.user }), 'system_admin_required')
    },
  )

  test.each(implying('service_caller_required'))('$name answers 403 service_caller_required to a user', async ({ route }) => {
    expectError(await service.call(route.method, pathOf(route), { token: tokens.user }), 'service_caller_required')
  })

  test.each(implying('admin_app_not_allowed'))(
    "$name answers 403 to an admin's token of an app that may not administer",
    async ({ route }) => {
      expectError(await service.call(route.method, pathOf(route), { token: tokens.adminOfAnotherApp }), 'admin_app_not_allowed')
    },
  )

  test.each(routes.filter(({ route }) => route.auth !== 'public' && route.body))(
    '$name authenticates before it reads the body',
    async ({ route }) => {
      expectError(await service.call(route.method, pathOf(route), { body: hugeBody }), 'token_missing')
      const reply = await service.call(route.method, pathOf(route), { body: '{', token: tokens.revoked })
      expectError(reply, isForNoUser(route) ? 'token_invalid' : 'token_revoked')
    },
  )
})

describe('paths and methods', () => {
  test.each(implying('not_found'))('$name answers 404 to a malformed id', async ({ route }) => {
    const malformed = ['%20!%20', '%27%20or%201%3D1%20--', 'x'.repeat(3000), '%0A', '%2Fetc', '..%2F..', '%F0%9F%92%A9', '{x}']
    for (const param of dealt(malformed)) {
      expectError(
        await rawCall(service.url, route.method, BASE_PATH + pathOf(route, param), { headers: bearer(route) }),
        'not_found',
        param,
      )
    }
  })

  test.each(withJson('not_found').filter(({ route }) => !route.body))('$name answers 404 to an unknown id', async ({ route }) => {
    for (const param of [randomUUID(), '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff']) {
      // Only an org_admin learns whether the organization exists.
      const code = route.errors.includes('organization_admin_required') ? 'organization_admin_required' : 'not_found'
      const path = `${pathOf(route, param)}?${requiredQueryOf(route)}`
      expectError(await service.call(route.method, path, { token: tokenFor(route) }), code)
    }
  })

  // covers version-prefix
  test.each(routes)('$name answers only at exactly that path', async ({ route }) => {
    const path = BASE_PATH + pathOf(route)
    const elsewhere = [
      `${path}/`,
      `/${path}`,
      path.toUpperCase(),
      `${path}%00`,
      `${path}/%zz`,
      `${path}/%C0%AF`,
      `${path}/%ED%A0%80`,
      pathOf(route),
    ]
    for (const other of dealt(elsewhere)) {
      // Send the token: a longer path may match another route, with a malformed id.
      const headers = bearer(route)
      expectError(await rawCall(service.url, route.method, other, { headers }), 'not_found', other)
    }
  })

  test.each([...new Set(routes.map(({ route }) => route.path))])(
    'the path %s answers 405 to any other method, and names the allowed ones',
    async (path) => {
      const declared = routes.filter(({ route }) => route.path === path).map(({ route }) => route)
      const methodsOf = ({ method, navigation }: Route) => (method === 'GET' && !navigation ? ['GET', 'HEAD'] : [method])
      const allowed = new Set(declared.flatMap(methodsOf))
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND'].filter(
        (each) => !allowed.has(each),
      )
      for (const method of onceInFull(others)) {
        const reply = await rawCall(service.url, method, BASE_PATH + pathOf(declared[0]!), { headers: bearer(declared[0]!) })
        if (method === 'HEAD') expect(reply.status).toBe(405)
        else expectError(reply, 'method_not_allowed', method)
        expect(new Set(reply.headers.get('allow')?.split(', '))).toEqual(allowed)
      }
    },
  )

  test.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v2/health',
    '/api/v1/',
    '/api/v1/admin',
    '/api/v1/nothing',
    '/favicon.ico',
    '/.env',
    '/api/v1/../v1/health',
  ])('the path %s is 404', async (path) => {
    expectError(await rawCall(service.url, 'GET', path), 'not_found')
    expectError(await rawCall(service.url, 'POST', path), 'not_found')
  })
})

describe('request bodies', () => {
  test.each(withJson('payload_too_large'))(
    '$name accepts 64 KiB, or the limit that it declares, and no byte more',
    async ({ route }) => {
      const limitBytes = route.bodyLimitBytes ?? usualLimitBytes
      const most = JSON.stringify({ padding: 'x'.repeat(limitBytes - '{"padding":""}'.length) })
      expect(Buffer.byteLength(most)).toBe(limitBytes)
      const headers = { 'content-type': 'application/json', ...bearer(route) }
      const path = BASE_PATH + pathOf(route)
      const half = Buffer.from(most).subarray(0, limitBytes / 2)
      for (const length of withOrWithout({ 'content-length': String(limitBytes) })) {
        const reply = await rawCall(service.url, route.method, path, {
          headers: { ...headers, ...length },
          chunks: [half, Buffer.from(most).subarray(limitBytes / 2)],
        })
        expect(reply.body.code).toBe('validation_failed')
      }
      for (const length of withOrWithout({ 'content-length': String(limitBytes + 1) })) {
        const reply = await rawCall(service.url, route.method, path, {
          headers: { ...headers, ...length },
          chunks: [half, half, ' '],
        })
        expectError(reply, 'payload_too_large')
      }
    },
  )

  // covers endpoint-json
  test.each(withJson('unsupported_media_type'))('$name accepts only a body of application/json in UTF-8', async ({ route }) => {
    const types = [
      'text/plain',
      'text/json',
      ...(route.speaks === 'oauth' ? [] : ['application/x-www-form-urlencoded']),
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset="iso-8859-1"',
      'application/jsonp',
      'application/problem+json',
      'nonsense',
      ',',
    ]
    for (const type of onceInFull(types))
      expectError(await post(route, '{}', { 'content-type': type }), 'unsupported_media_type', type)
    for (const length of withOrWithout({ 'content-length': '2' })) {
      const untyped = await rawCall(service.url, route.method, BASE_PATH + pathOf(route), {
        headers: { ...bearer(route), ...length },
        chunks: ['{}'],
      })
      expectError(untyped, 'unsupported_media_type')
    }
    for (const type of [
      'application/json; charset=utf-8',
      'Application/JSON;charset="UTF-8"',
      'application/json;charset=utf8; x=y',
    ]) {
      expect((await post(route, '{"email":5,"nope":1}', { 'content-type': type })).body.code, type).not.toBe(
        'unsupported_media_type',
      )
    }
  })

  test.each(withJson('unsupported_media_type'))('$name refuses a compressed body', async ({ route }) => {
    for (const encoding of onceInFull(['gzip', 'deflate', 'br', 'zstd', 'nonsense', 'identity, gzip'])) {
      expectError(await post(route, '{}', { 'content-encoding': encoding }), 'unsupported_media_type', encoding)
    }
    expect((await post(route, '{"email":5,"nope":1}', { 'content-encoding': 'identity' })).body.code).toBe('validation_failed')
  })

  test.each(implying('invalid_json'))(
    '$name answers 400 invalid_json to a body that is not a valid JSON object',
    async ({ route }) => {
      const unsound: Record<string, string | Uint8Array> = {
        'no JSON': '{"a":',
        'blanks alone': '  \n',
        'two values': '{} {}',
        'an array': '[]',
        'a string': '"text"',
        'a number': '5',
        null: 'null',
        true: 'true',
        'a comment': '{} // x',
        'single quotes': "{'a':1}",
        'a trailing comma': '{"a":1,}',
        'a name twice': '{"a":1,"a":1}',
        'a name twice deep inside': '{"b":[{"a":{},"\\u0061":{}}]}',
        NaN: '{"a":NaN}',
        'nesting 33': nested(33),
        'nesting in lists': `{"a":${'['.repeat(32)}${']'.repeat(32)}}`,
        'nesting without end': `{"a":${'['.repeat(30_000)}`,
        'half a surrogate pair': '{"a":"\\ud800"}',
        'the other half': '{"a":"\\udc00\\ud800"}',
        'half a pair in a key': '{"\\udfff":1}',
        'a NUL': '{"a":"x\\u0000y"}',
        'a NUL in a key': '{"a\\u0000":1}',
        'a NUL deep inside': '{"a":[{"b":["\\u0000"]}]}',
        'a bare NUL': '{"a":"\0"}',
        'a number that overflows': '{"a":1e999}',
        'a negative one': '{"a":-1e999}',
        'invalid UTF-8': Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')]),
        'overlong UTF-8': Buffer.from([...Buffer.from('{"a":"'), 0xc0, 0xaf, ...Buffer.from('"}')]),
        'a surrogate in UTF-8': Buffer.from([...Buffer.from('{"a":"'), 0xed, 0xa0, 0x80, ...Buffer.from('"}')]),
        'cut UTF-8': Buffer.from([...Buffer.from('{"a":"'), 0xf0, 0x9f]),
        'UTF-16': Buffer.from('{"a":1}', 'utf16le'),
      }
      for (const [what, body] of dealt(Object.entries(unsound))) expectError(await post(route, body), 'invalid_json', what)
    },
  )

  test.each(implying('invalid_json'))(
    '$name accepts JSON with 32 levels, a whole surrogate pair, a byte order mark and the largest numbers',
    async ({ route }) => {
      for (const body of [nested(32), '{"a":"\\ud83d\\ude00"}', '\ufeff{"a":1}', '{"a":1e308}']) {
        expect((await post(route, body)).body.code, body).toBe('validation_failed')
      }
    },
  )

  test.each(implying('validation_failed').filter(({ route }) => route.body))(
    '$name converts no field to another type, and names each field of a wrong type',
    async ({ route }) => {
      const fields = Object.keys((route.body as z.ZodObject).shape).filter((field) => field !== 'code')
      const reply = await post(route, Object.fromEntries(fields.map((field) => [field, [[]]])))
      expectError(reply, 'validation_failed')
      const named = new Set(reply.body.errors.map((error: { path: string }) => error.path.split('.')[0]))
      expect(fields.filter((field) => !named.has(field))).toEqual([])
    },
  )

  test.each(routes.filter(({ route }) => isAdminDoor(route.auth) && route.body))(
    '$name names every unknown field',
    async ({ route }) => {
      const reply = await post(
        route,
        '{"nope":1,"__proto__":{"isAdmin":true},"constructor":{"prototype":{"isAdmin":true}},"prototype":1,"toString":2}',
      )
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual(
        expect.arrayContaining(
          ['__proto__', 'constructor', 'nope', 'prototype', 'toString'].map((field) => `${field}: unknown_field`),
        ),
      )
      expect(({} as Json).isAdmin).toBeUndefined()
    },
  )
})

describe('rate limits of routes', () => {
  test.each(implying('rate_limited'))(
    '$name answers 429 with Retry-After to a caller past AUTH_RATE_LIMIT_IP',
    async ({ route }) => {
      const limited = await buildService({ AUTH_RATE_LIMIT_IP: '2/60' })
      const ask = (token?: string) => limited.call(route.method, route.path, { body: {}, token })
      for (const token of [undefined, 'garbage']) expect((await ask(token)).status).not.toBe(429)
      const refused = await ask()
      expectError(refused, 'rate_limited')
      expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
      for (const token of ['garbage', 'gsa_garbage']) expectError(await ask(token), 'rate_limited')
      limited.advance(60)
      expect((await ask()).status).not.toBe(429)
    },
  )
})

describe('query parameters', () => {
  // A callback takes any query field, because providers add their own.
  const judged = implying('validation_failed').filter(
    ({ route }) => (route.query || isAdminDoor(route.auth)) && !route.path.endsWith('/callback'),
  )

  test.each(judged)('$name refuses query fields that are unknown or unreadable', async ({ route }) => {
    const ask = (query: string) =>
      rawCall(service.url, route.method, `${BASE_PATH}${pathOf(route)}?${query}`, { headers: bearer(route) })
    const unknown = await ask('nope=1')
    expectError(unknown, 'validation_failed')
    expect(faultsOf(unknown)).toContain('nope: unknown_field')
    expect(faultsOf(await ask('__proto__=1&constructor=2')).filter((fault) => fault.endsWith(': unknown_field'))).toEqual([
      '__proto__: unknown_field',
      'constructor: unknown_field',
    ])
    for (const query of dealt(['nope=%00', '%00=1', 'a%00b=1', 'nope[]=1', 'limit[a]=1', 'nope', '=1']))
      expectError(await ask(query), 'validation_failed', query)
    for (const field of Object.keys(route.query?.shape ?? {})) {
      const twice = await ask(`${field}=1&${field}=1`)
      expectError(twice, 'validation_failed', field)
      const isList = `${route.method} ${route.path} ${field}` === 'GET /admin/audit event'
      expect(faultsOf(twice)).toContain(`${field}: ${isList ? 'invalid_value' : 'invalid_type'}`)
      expectError(await ask(`${field}=%00`), 'validation_failed', field)
    }
  })

  test.each(routes.filter(({ route }) => route.query && 'limit' in route.query.shape))(
    '$name accepts limits from 1 to 200 and its own cursors',
    async ({ route }) => {
      const ask = (query: string) =>
        service.call(route.method, `${pathOf(route)}?${query}${requiredQueryOf(route)}`, { token: tokenFor(route) })
      const limits = ['0', '201', '-1', '1.5', '1e2', '%2B5', ' 5', '', 'abc', '0x10', '99999999999999999999', 'null']
      for (const limit of dealt(limits)) {
        const reply = await ask(`limit=${limit}`)
        expectError(reply, 'validation_failed', limit)
        expect(faultsOf(reply)).toContain('limit: invalid_value')
      }
      const cursors = [
        '',
        'x',
        '%25',
        'null',
        Buffer.from('1').toString('base64url'),
        Buffer.from("' or 1=1").toString('base64url'),
        'A'.repeat(501),
      ]
      for (const cursor of dealt(cursors)) expectError(await ask(`cursor=${cursor}`), 'validation_failed', cursor)
      for (const limit of [1, 200]) {
        const reply = await ask(`limit=${limit}`)
        expect(reply.status).toBe(200)
        expectHeaders(reply)
        expect(Object.keys(reply.body).sort()).toEqual(['items', 'next_cursor'])
      }
    },
  )
})
