// The limit by address, AUTH_RATE_LIMIT_IP and AUTH_TRUST_PROXY.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BASE_PATH, createHttpApp, listRoutes } from '../../packages/server/src/app.ts'
import { limitOf } from '../../packages/server/src/http/limits.ts'
import { hashOpaqueToken } from '../../packages/server/src/lib/random.ts'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { rawCall } from '../support/raw-http.ts'
import {
  buildApp,
  buildService,
  buildUser,
  callHttp,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  type TestService,
} from '../support/service.ts'

interface World {
  service: TestService
  app: Json
}

/** A service with this limit, nothing counted yet. */
async function build(limit: string, settings: Record<string, string> = {}): Promise<World> {
  const service = freezeClock(
    await buildService({
      AUTH_RATE_LIMIT_IP: limit,
      AUTH_RATE_LIMIT_ACCOUNT: 'off',
      AUTH_LOCKOUT_THRESHOLD: '1000',
      ...settings,
    }),
  )
  const app = await buildApp(service, { auto_grant_on_signup: true })
  await service.deps.db('rate_limits').delete()
  return { service, app }
}

/** A login that fails. It is counted by address, as every login is. */
function tryLogin({ service, app }: World, options: { headers?: Record<string, string>; token?: string } = {}): Promise<Reply> {
  const body = { email: someEmail(), password: PASSWORD, app_code: app.code }
  return service.call('POST', '/auth/login', { ...options, body })
}

async function countedBy(service: TestService): Promise<Record<string, number>> {
  const rows: { key: string; count: number }[] = await service.deps.db('rate_limits').orderBy('key')
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]))
}

/** Only the counts by address, without those of other limits. */
async function addressesIn(service: TestService): Promise<Record<string, number>> {
  const counted = Object.entries(await countedBy(service)).filter(([key, count]) => key.startsWith('ip:') && count > 0)
  return Object.fromEntries(counted)
}

// covers limit-address
test('after COUNT calls in SECONDS, the next are 429 with Retry-After until the window of the first one ends', async () => {
  const world = await build('3/60')
  for (const seconds of [20, 20, 5]) {
    expectError(await tryLogin(world), 'invalid_credentials')
    world.service.advance(seconds)
  }
  for (let i = 0; i < 3; i += 1) {
    const refused = await tryLogin(world)
    expectError(refused, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('15')
    expect(refused.headers.get('cache-control')).toBe('no-store')
  }
  world.service.advance(15)
  for (let i = 0; i < 3; i += 1) expectError(await tryLogin(world), 'invalid_credentials')
  expectError(await tryLogin(world), 'rate_limited')
})

test('`off` counts nothing', async () => {
  const world = await build('off')
  for (let i = 0; i < 5; i += 1) await tryLogin(world)
  expect(await countedBy(world.service)).toEqual({})
})

test('exactly COUNT of 50 calls at once pass', async () => {
  const world = await build('20/60')
  const replies = await atOnce(50, () => tryLogin(world))
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(20)
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(30)
  expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 20 })
})

test.each([
  ['203.0.113.9:4711', '203.0.113.9:4712', '203.0.113.10:4711'],
  ['[2001:db8:1:2::1]:4711', '[2001:db8:1:2::1]:4712', '[2001:db8:9:9::1]:4711'],
])('behind a proxy that writes ports, %s and %s are one client and %s is another', async (...forwarded) => {
  const world = await build('1000/60', { AUTH_TRUST_PROXY: '1' })
  for (const value of forwarded) await tryLogin(world, { headers: { 'x-forwarded-for': value } })
  const counted = Object.entries(await addressesIn(world.service)).filter(([key]) => !key.endsWith('/48'))
  expect(counted.map(([, count]) => count).sort()).toEqual([1, 2])
})

describe('calls that count towards the limit', () => {
  test('only POSTs under /auth/ that need no bearer count, also successful and malformed ones', async () => {
    const { service, app } = await build('1000/60')
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 1 })
    await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD, app_code: app.code } })
    await service.call('POST', '/auth/login', { body: '{' })
    await service.call('POST', '/auth/register', { body: {} })
    await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 4 })
    await service.call('POST', '/auth/refresh', { body: { refresh_token: 'grt_nothing' } })
    await service.call('POST', '/auth/logout', { body: { refresh_token: 'grt_nothing' } })
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 6 })

    await service.call('GET', '/auth/me', { token })
    await service.call('GET', '/auth/me')
    await service.call('POST', '/auth/2fa/setup', { token })
    await service.call('POST', '/auth/2fa/setup')
    await service.admin('GET', '/admin/apps')
    await service.call('GET', '/health')
    await service.call('POST', '/auth/nothing', { body: {} })
    await service.call('GET', '/auth/login')
    await service.call('OPTIONS', '/auth/login', {
      headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
    })
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 6 })
  })

  test('only failed refreshes count', async () => {
    const { service, app } = await build('3/60')
    let { refresh_token } = await buildUser(service, app)
    await service.deps.db('rate_limits').delete()
    for (let i = 0; i < 5; i += 1) {
      const reply = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
      expect(reply.status).toBe(200)
      refresh_token = reply.body.refresh_token
    }
    expect(await countedBy(service)).toEqual({})
    const failing = [{ refresh_token: 'grt_nothing' }, {}, '{']
    for (const body of failing) expect((await service.call('POST', '/auth/refresh', { body })).status).toBeOneOf([400, 401])
    const refused = await service.call('POST', '/auth/refresh', { body: { refresh_token } })
    expectError(refused, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('60')
    service.advance(60)
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token } })).status).toBe(200)
  })

  test('an IPv6 /48 counts as a whole, up to ten times the limit of one /64', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '1' })
    const from = (address: string) => tryLogin(world, { headers: { 'x-forwarded-for': address } })
    const replies = await atOnce(30, (index) => from(`2001:db8:1:${index}::1`))
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(20)
    expect(replies.filter(({ status }) => status === 429)).toHaveLength(10)
    expectError(await from('2001:db8:1:ffff::1'), 'rate_limited')
    expectError(await from('2001:db8:2:ffff::1'), 'invalid_credentials')
    // A call that the /48 has no room for does not count against its /64.
    const counted = await addressesIn(world.service)
    expect(counted['ip:2001:db8:1::/48']).toBe(20)
    expect(Object.values(counted).reduce((sum, count) => sum + count, 0)).toBe(20 + 20 + 2)
  })

  test('every route that counts is declared as a public POST under /auth/', () => {
    const limited = listRoutes().filter((route) => limitOf(route) && route.speaks !== 'oauth')
    expect(limited.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/auth/login', '/auth/register', '/auth/refresh', '/auth/logout']),
    )
    for (const { method, path, auth } of limited)
      expect([method, auth, path.startsWith('/auth/')]).toEqual(['POST', 'public', true])
  })

  test('a call is counted before anything is read or looked up', async () => {
    const world = await build('1/60')
    await tryLogin(world)
    const { service } = world
    for (const body of ['{', { email: 'x' }, {}]) expectError(await service.call('POST', '/auth/login', { body }), 'rate_limited')
    expectError(await service.call('POST', '/auth/register', { body: { mode: 'register_or_return' } }), 'rate_limited')
    expectError(
      await service.call('POST', '/auth/login', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      'rate_limited',
    )
  })
})

describe('the bearer token of a service account', () => {
  const allOthers = ['permissions:register', 'users:register_or_return', 'users:override', 'tokens:introspect']
  const serviceAccount = async ({ service, app }: World, extra: object = {}) => {
    const body = { name: randomUUID(), service: 'shop', scopes: ['limits:exempt'], app_codes: [app.code], ...extra }
    const account = (await service.admin('POST', '/admin/service-accounts', { body })).body
    await service.deps.db('rate_limits').delete()
    return account
  }

  test('a service account with limits:exempt is exempt for its apps', async () => {
    const world = await build('2/60')
    const { token } = await serviceAccount(world, { scopes: ['limits:exempt', 'users:register_or_return'] })
    for (let i = 0; i < 5; i += 1) expectError(await tryLogin(world, { token }), 'invalid_credentials')
    const email = 'back@example.com'
    const named = { email, app_code: world.app.code }
    for (const path of ['/auth/password/forgot', '/auth/magic-link', '/auth/email/resend'])
      expect((await world.service.call('POST', path, { token, body: named })).status).toBe(202)
    const body = { ...named, password: PASSWORD, mode: 'register_or_return' }
    expect((await world.service.call('POST', '/auth/register', { token, body })).status).toBe(201)
    expect(await addressesIn(world.service)).toEqual({})
    // Also once the address has used up its limit.
    for (let i = 0; i < 2; i += 1) await tryLogin(world)
    expectError(await tryLogin(world), 'rate_limited')
    expectError(await tryLogin(world, { token }), 'invalid_credentials')
  })

  test.each([
    ['by default', {}],
    ['with every other scope', { scopes: allOthers }],
  ])('a service account without the scope is exempt from nothing: %s', async (_, extra) => {
    const world = await build('3/60')
    const { token } = await serviceAccount(world, { scopes: undefined, ...extra })
    for (let i = 0; i < 3; i += 1) expectError(await tryLogin(world, { token }), 'invalid_credentials')
    expectError(await tryLogin(world, { token }), 'rate_limited')
    // The call is refused before its body is read, as for any caller.
    expectError(await world.service.call('POST', '/auth/login', { token, body: '{' }), 'rate_limited')
  })

  test('a service account is exempt only for its own apps, and not if the call names none', async () => {
    const world = await build('4/60', { AUTH_REQUIRE_APP_CODE: 'false' })
    const { service } = world
    const other = await buildApp(service)
    const { token } = await serviceAccount(world)
    const logins = [other.code, 'no-such-app', undefined, ' '].map((app_code) => ({ app_code }))
    for (const extra of logins) {
      const body = { email: 'user@example.com', password: PASSWORD, ...extra }
      expect((await service.call('POST', '/auth/login', { token, body })).status).not.toBe(429)
    }
    expect(await addressesIn(service)).toEqual({ 'ip:127.0.0.1': 4 })
    const body = { email: 'user@example.com', app_code: other.code }
    expectError(await service.call('POST', '/auth/password/forgot', { token, body }), 'rate_limited')
    expectError(await tryLogin(world, { token }), 'invalid_credentials')
  })

  test('a service account is exempt for the default app at a registration without an app_code', async () => {
    const world = await build('1/60', { AUTH_DEFAULT_APP_CODE: 'front', AUTH_REQUIRE_APP_CODE: 'false' })
    const { service } = world
    await service.admin('POST', '/admin/apps', { body: { code: 'front', name: 'Front' } })
    const { token } = await serviceAccount(world, { app_codes: ['front'] })
    const credentials = () => ({ email: someEmail(), password: PASSWORD })
    for (let i = 0; i < 3; i += 1)
      expect((await service.call('POST', '/auth/register', { token, body: credentials() })).status).toBe(201)
    expect(await addressesIn(service)).toEqual({})
    // A login without an app_code belongs to no app.
    expectError(await service.call('POST', '/auth/login', { token, body: credentials() }), 'invalid_credentials')
    expectError(await service.call('POST', '/auth/login', { token, body: credentials() }), 'rate_limited')
  })

  test('a service account is exempt for the app of a token in the body, and guessed tokens are counted', async () => {
    const world = await build('1000/60')
    const { service, app } = world
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const [own, foreign] = [await buildUser(service, app), await buildUser(service, other)]
    const { token } = await serviceAccount(world)
    const counts = async (path: string, body: Json) => {
      const before = (await addressesIn(service))['ip:127.0.0.1'] ?? 0
      const { status } = await service.call('POST', path, { token, body })
      return [status, ((await addressesIn(service))['ip:127.0.0.1'] ?? 0) - before]
    }
    expect(await counts('/auth/refresh', { refresh_token: own.refresh_token })).toEqual([200, 0])
    expect(await counts('/auth/refresh', { refresh_token: foreign.refresh_token })).toEqual([200, 0])
    expect(await counts('/auth/refresh', { refresh_token: 'grt_nothing' })).toEqual([401, 1])
    // Only the fields that the route reads can name the app.
    expect(await counts('/auth/refresh', { refresh_token: 'grt_nothing', app_code: app.code, token: 'x' })).toEqual([401, 1])
    expect(await counts('/auth/logout', { refresh_token: own.refresh_token })).toEqual([204, 0])
    const mailTokens = [await insertMailToken(service, own.user, app), await insertMailToken(service, foreign.user, other)]
    for (const [index, mailToken] of mailTokens.entries())
      expect(await counts('/auth/email/verify', { token: mailToken })).toEqual([200, index])
    expect(await counts('/auth/magic-link/consume', { token: 'gmt_nothing' })).toEqual([400, 1])
    const verifier = { code_verifier: 'x'.repeat(43) }
    const codes = [await insertLoginCode(service, app), await insertLoginCode(service, other)]
    for (const [index, code] of codes.entries())
      expect(await counts('/auth/sso/token', { code, ...verifier })).toEqual([400, index])
    expect(await counts('/auth/sso/token', { code: 'nothing', ...verifier })).toEqual([400, 1])
    // The six digits are a code too, but name no app.
    for (const [index, { code }] of [app, other].entries()) {
      const asked = await service.call('POST', '/auth/email-code', { body: { email: someEmail(), app_code: code } })
      const guess = { request_id: asked.body.request_id, code: '000000' }
      expect(await counts('/auth/email-code/consume', guess)).toEqual([401, index])
    }
    expect(await counts('/auth/email-code/consume', { request_id: 'made-up', code: '000000' })).toEqual([400, 1])
  })

  test('a service account stays exempt by a token after strangers sent made-up ones through its backend', async () => {
    const world = await build('3/60')
    const { service, app } = world
    const other = await buildApp(service, { auto_grant_on_signup: true })
    const [own, foreign] = [await buildUser(service, app), await buildUser(service, other)]
    const mailToken = await insertMailToken(service, own.user, app)
    const { token } = await serviceAccount(world)
    const send = (path: string, body: Json, bearer: string | undefined = token) =>
      service.call('POST', path, { token: bearer, body })
    for (let i = 0; i < 3; i += 1)
      expectError(await send('/auth/refresh', { refresh_token: `grt_${i}` }), 'invalid_refresh_token')
    // More guesses are refused, and so is a token of another app.
    for (const refresh_token of ['grt_more', foreign.refresh_token])
      expectError(await send('/auth/refresh', { refresh_token }), 'rate_limited')
    expectError(await send('/auth/magic-link/consume', { token: 'gmt_nothing' }), 'rate_limited')
    const { status, body } = await send('/auth/refresh', { refresh_token: own.refresh_token })
    expect(status).toBe(200)
    expect((await send('/auth/email/verify', { token: mailToken })).status).toBe(200)
    // Without the service account, the address is what it is.
    expectError(await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } }), 'rate_limited')
    expect((await send('/auth/logout', { refresh_token: body.refresh_token })).status).toBe(204)
    expect((await addressesIn(service))['ip:127.0.0.1']).toBeGreaterThanOrEqual(3)
  })

  test('a service account is exempt from neither the account limit nor the lockout', async () => {
    for (const [settings, code] of [
      [{ AUTH_RATE_LIMIT_ACCOUNT: '3/300' }, 'rate_limited'],
      [{ AUTH_LOCKOUT_THRESHOLD: '3' }, 'account_locked'],
    ] as const) {
      const world = await build('1000/60', settings)
      const { service, app } = world
      const { user } = await buildUser(service, app)
      const { token } = await serviceAccount(world)
      const guess = () =>
        service.call('POST', '/auth/login', { token, body: { email: user.email, password: 'a guess', app_code: app.code } })
      for (let i = 0; i < 3; i += 1) await guess()
      expectError(await guess(), code)
    }
  })

  test('an expired, deleted, rotated or mistyped service account is not exempt, and neither is a user', async () => {
    const world = await build('1000/60')
    const { service, app } = world
    const expired = await serviceAccount(world, { expires_at: new Date(service.deps.clock() + 1_000).toISOString() })
    const deleted = await serviceAccount(world)
    const rotated = await serviceAccount(world)
    await service.admin('DELETE', `/admin/service-accounts/${deleted.id}`)
    await service.admin('POST', `/admin/service-accounts/${rotated.id}/rotate`)
    const { access_token } = await buildUser(service, app)
    service.advance(1)
    await service.deps.db('rate_limits').delete()
    const tokens = [expired.token, deleted.token, rotated.token, `${rotated.token}x`, 'gsa_', 'gsa_x', 'garbage', access_token]
    for (const token of tokens) expectError(await tryLogin(world, { token }), 'invalid_credentials')
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': tokens.length })
  })

  async function insertMailToken({ deps }: TestService, user: Json, app: Json): Promise<string> {
    const token = `token-${randomUUID()}`
    const now = deps.clock()
    await deps.db('mail_tokens').insert({
      token_hash: hashOpaqueToken(token),
      user_id: user.id,
      purpose: 'verify_email',
      email: user.email,
      app_id: app.id,
      created_at: now,
      expires_at: now + 60_000,
    })
    return token
  }

  /** The code of a third-party login through an app. An exchange fails, because its verifier is unknown. */
  async function insertLoginCode(service: TestService, app: Json): Promise<string> {
    const provider = { issuer: 'https://idp.example.com', client_id: 'x', client_secret: 'x' }
    const { body } = await service.admin('POST', '/admin/sso-providers', {
      body: { ...provider, code: `idp-${randomUUID().slice(0, 8)}` },
    })
    const code = `code-${randomUUID()}`
    const now = service.deps.clock()
    await service.deps.db('sso_logins').insert({
      state_hash: randomUUID(),
      provider_id: body.id,
      app_id: app.id,
      issuer: provider.issuer,
      redirect_url: 'https://app.example.com/cb',
      client_state: 'state',
      code_challenge: 'x'.repeat(43),
      code_hash: hashOpaqueToken(code),
      created_at: now,
      expires_at: now + 60_000,
    })
    return code
  }
})

describe('X-Forwarded-For', () => {
  const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } })

  test('the header is ignored without AUTH_TRUST_PROXY', async () => {
    const world = await build('3/60')
    for (const value of ['203.0.113.1', '203.0.113.2, 203.0.113.3', '::1']) await tryLogin(world, forwarded(value))
    expectError(await tryLogin(world, forwarded('203.0.113.4')), 'rate_limited')
    expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 3 })
  })

  test('the last entry counts behind one proxy', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '1' })
    // Entries that the client wrote come before the one that the proxy adds.
    for (const forged of ['203.0.113.1', '203.0.113.2', '127.0.0.1']) {
      await tryLogin(world, forwarded(`${forged}, 198.51.100.7`))
    }
    expectError(await tryLogin(world, forwarded('198.51.100.7')), 'rate_limited')
    expectError(await tryLogin(world, forwarded('198.51.100.8')), 'invalid_credentials')
    for (const nonsense of ['', 'unknown', '198.51.100.7:80']) await tryLogin(world, forwarded(nonsense))
    expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 2, 'ip:198.51.100.7': 2, 'ip:198.51.100.8': 1 })
  })

  test('the last but one entry counts behind two proxies', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '2' })
    for (const proxy of ['10.0.0.1', '10.0.0.2']) await tryLogin(world, forwarded(`203.0.113.9, 198.51.100.7, ${proxy}`))
    expectError(await tryLogin(world, forwarded('198.51.100.7, 10.0.0.3')), 'rate_limited')
    expect(await countedBy(world.service)).toEqual({ 'ip:198.51.100.7': 2 })
  })

  test('several headers count as one list', async () => {
    const { service } = await build('5/60', { AUTH_TRUST_PROXY: '1' })
    const headers = { 'x-forwarded-for': ['203.0.113.9', '198.51.100.7'] }
    await rawCall(service.url, 'POST', '/api/v1/auth/login', { headers })
    expect(await countedBy(service)).toEqual({ 'ip:198.51.100.7': 1 })
  })

  test('IPv6 counts by its /64, and IPv4 in IPv6 as IPv4', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '1' })
    await tryLogin(world, forwarded('2001:db8:1:2::1'))
    await tryLogin(world, forwarded('2001:DB8:0001:0002:ffff::'))
    expectError(await tryLogin(world, forwarded('2001:db8:1:2:3:4:5:6')), 'rate_limited')
    expectError(await tryLogin(world, forwarded('2001:db8:1:3::1')), 'invalid_credentials')
    await tryLogin(world, forwarded('::ffff:198.51.100.7'))
    await tryLogin(world, forwarded('198.51.100.7'))
    expectError(await tryLogin(world, forwarded('::ffff:c633:6407')), 'rate_limited')
    expect(await countedBy(world.service)).toEqual({
      'ip:198.51.100.7': 2,
      'ip:2001:db8:1::/48': 3,
      'ip:2001:db8:1:2::/64': 2,
      'ip:2001:db8:1:3::/64': 1,
    })
  })
})

test('a dual-stack socket counts IPv4 callers as IPv4', async (context) => {
  const { service, app } = await build('5/60')
  const server = createServer(createHttpApp(service.deps).callback())
  onTestFinished(() => void server.close())
  const isListening = await listenDualStack(server)
  if (!isListening) return context.skip('no IPv6 here')
  const { port } = server.address() as AddressInfo
  const body = { email: 'nobody@example.com', password: PASSWORD, app_code: app.code }
  await callHttp(`http://127.0.0.1:${port}${BASE_PATH}/auth/login`, 'POST', { body })
  expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 1 })
})

function listenDualStack(server: Server): Promise<boolean> {
  return new Promise((resolve) => {
    server.once('error', () => resolve(false))
    server.listen(0, '::', () => resolve(true))
  })
}
