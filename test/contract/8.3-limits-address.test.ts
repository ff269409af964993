// contract 8.3 and decisions 2: the limit by address, AUTH_RATE_LIMIT_IP and AUTH_TRUST_PROXY.
import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { BASE_PATH, createApp, listRoutes } from '../../packages/server/src/app.ts'
import { isLimitedByAddress } from '../../packages/server/src/http/route.ts'
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

/** A login that fails for the user: counted by address, as any. */
function tryLogin({ service, app }: World, options: { headers?: Record<string, string>; token?: string } = {}): Promise<Reply> {
  const body = { email: `user-${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code }
  return service.call('POST', '/auth/login', { ...options, body })
}

async function countedBy(service: TestService): Promise<Record<string, number>> {
  const rows: { key: string; count: number }[] = await service.deps.db('rate_limits').orderBy('key')
  return Object.fromEntries(rows.map(({ key, count }) => [key, count]))
}

test('COUNT calls in SECONDS, then 429 with Retry-After until the window that the first began has ended', async () => {
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

test('of 50 calls at once exactly COUNT pass', async () => {
  const world = await build('20/60')
  const replies = await atOnce(50, () => tryLogin(world))
  expect(replies.filter(({ status }) => status === 401)).toHaveLength(20)
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(30)
  expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 20 })
})

describe('what is counted', () => {
  test('POSTs under /auth/ that need no bearer, successes and malformed ones too, and nothing else', async () => {
    const { service, app } = await build('1000/60')
    const { user, access_token: token, refresh_token } = await buildUser(service, app)
    expect(await countedBy(service)).toEqual({ 'ip:127.0.0.1': 1 })
    await service.call('POST', '/auth/login', { body: { email: user.email, password: PASSWORD, app_code: app.code } })
    await service.call('POST', '/auth/login', { body: '{' })
    await service.call('POST', '/auth/register', { body: {} })
    await service.call('POST', '/auth/refresh', { body: { refresh_token } })
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

  test('every such route, by its declaration', () => {
    const limited = listRoutes().filter(isLimitedByAddress)
    expect(limited.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['/auth/login', '/auth/register', '/auth/refresh', '/auth/logout']),
    )
    for (const { method, path, auth } of limited)
      expect([method, auth, path.startsWith('/auth/')]).toEqual(['POST', 'public', true])
  })

  test('before anything is read or looked up', async () => {
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

describe('a bearer', () => {
  const serviceAccount = async ({ service }: World, extra: object = {}) => {
    const body = { name: 'shop', service: 'shop', scopes: ['users:register_or_return'], ...extra }
    return (await service.admin('POST', '/admin/service-accounts', { body })).body
  }

  test('of a service account exempts', async () => {
    const world = await build('2/60')
    const { token } = await serviceAccount(world)
    await world.service.deps.db('rate_limits').delete()
    for (let i = 0; i < 5; i += 1) expectError(await tryLogin(world, { token }), 'invalid_credentials')
    expect(await countedBy(world.service)).toEqual({})
    const body = { email: 'back@example.com', password: PASSWORD, app_code: world.app.code, mode: 'register_or_return' }
    expect((await world.service.call('POST', '/auth/register', { token, body })).status).toBe(201)
    // Also once the address has nothing left.
    for (let i = 0; i < 2; i += 1) await tryLogin(world)
    expectError(await tryLogin(world), 'rate_limited')
    expectError(await tryLogin(world, { token }), 'invalid_credentials')
  })

  test('of a service account that is expired, deleted, rotated or mistyped does not, nor one of a user', async () => {
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
})

describe('X-Forwarded-For', () => {
  const forwarded = (value: string) => ({ headers: { 'x-forwarded-for': value } })

  test('is not believed without AUTH_TRUST_PROXY', async () => {
    const world = await build('3/60')
    for (const value of ['203.0.113.1', '203.0.113.2, 203.0.113.3', '::1']) await tryLogin(world, forwarded(value))
    expectError(await tryLogin(world, forwarded('203.0.113.4')), 'rate_limited')
    expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 3 })
  })

  test('is believed for the last entry behind one proxy', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '1' })
    // What the client wrote itself stands before what the proxy added.
    for (const forged of ['203.0.113.1', '203.0.113.2', '127.0.0.1']) {
      await tryLogin(world, forwarded(`${forged}, 198.51.100.7`))
    }
    expectError(await tryLogin(world, forwarded('198.51.100.7')), 'rate_limited')
    expectError(await tryLogin(world, forwarded('198.51.100.8')), 'invalid_credentials')
    for (const nonsense of ['', 'unknown', '198.51.100.7:80']) await tryLogin(world, forwarded(nonsense))
    expect(await countedBy(world.service)).toEqual({ 'ip:127.0.0.1': 2, 'ip:198.51.100.7': 2, 'ip:198.51.100.8': 1 })
  })

  test('is believed for the last but one behind two', async () => {
    const world = await build('2/60', { AUTH_TRUST_PROXY: '2' })
    for (const proxy of ['10.0.0.1', '10.0.0.2']) await tryLogin(world, forwarded(`203.0.113.9, 198.51.100.7, ${proxy}`))
    expectError(await tryLogin(world, forwarded('198.51.100.7, 10.0.0.3')), 'rate_limited')
    expect(await countedBy(world.service)).toEqual({ 'ip:198.51.100.7': 2 })
  })

  test('in several headers is one list', async () => {
    const { service } = await build('5/60', { AUTH_TRUST_PROXY: '1' })
    const headers = { 'x-forwarded-for': ['203.0.113.9', '198.51.100.7'] }
    await rawCall(service.url, 'POST', '/api/v1/auth/login', { headers })
    expect(await countedBy(service)).toEqual({ 'ip:198.51.100.7': 1 })
  })

  test('counts IPv6 by its /64, and IPv4 in IPv6 as IPv4', async () => {
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
      'ip:2001:db8:1:2::/64': 2,
      'ip:2001:db8:1:3::/64': 1,
    })
  })
})

test('a dual-stack socket counts IPv4 callers as IPv4', async (context) => {
  const { service, app } = await build('5/60')
  const server = createServer(createApp(service.deps).callback())
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
