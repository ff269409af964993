import { expect, onTestFinished, test, vi } from 'vitest'
import { createServiceTokens, type ServiceTokenOptions } from './index.ts'
import { type Answer, answer, buildService, settle, until } from './test-service.ts'
import { NOW } from './test-tokens.ts'

let nowMs = NOW * 1000
const advance = (seconds: number) => {
  nowMs += seconds * 1000
}

const SERVICE_TOKEN = 'gsa_CANARYtokenOfTheServiceAccount'
const LIFE_SEC = 900

/** Issues a new token each time: `token-1-for-orders`. */
function issuing(): Answer {
  let issued = 0
  return (response, request) => {
    const { app_code } = request.body as { app_code: string }
    issued += 1
    answer(200, { token_type: 'Bearer', access_token: `token-${issued}-for-${app_code}`, expires_in: LIFE_SEC })(
      response,
      request,
    )
  }
}

function build(url: string, options: ServiceTokenOptions = {}) {
  return createServiceTokens({ authUrl: url, serviceToken: SERVICE_TOKEN, now: () => nowMs, ...options })
}

test('all calls for one app share a token, and another app gets another token', async () => {
  const service = await buildService(issuing())
  const tokens = build(service.url)
  const all = await Promise.all([...Array.from({ length: 100 }, () => tokens.get('orders')), tokens.get('stock')])
  expect(new Set(all)).toEqual(new Set(['token-1-for-orders', 'token-2-for-stock']))
  expect(service.requests.map(({ method, url, headers, body }) => [method, url, headers.authorization, body])).toEqual(
    ['orders', 'stock'].map((app_code) => [
      'POST',
      '/api/v1/auth/token',
      `Bearer ${SERVICE_TOKEN}`,
      { grant_type: 'client_credentials', app_code },
    ]),
  )
})

test('a token is renewed before it ends, and no call waits for it', async () => {
  const service = await buildService(issuing())
  const tokens = build(service.url)
  await tokens.get('orders')
  advance(LIFE_SEC * 0.8 - 1)
  expect(await tokens.get('orders')).toBe('token-1-for-orders')
  expect(service.requests).toHaveLength(1)
  advance(2)
  expect(await Promise.all([tokens.get('orders'), tokens.get('orders')])).toEqual(['token-1-for-orders', 'token-1-for-orders'])
  await until(() => service.requests.length === 2)
  await settle()
  expect(await tokens.get('orders')).toBe('token-2-for-orders')
  expect(service.requests).toHaveLength(2)
})

test('the old token is returned while it lives and the service is away, and then the reason is thrown', async () => {
  const service = await buildService(issuing())
  const tokens = build(service.url)
  await tokens.get('orders')
  service.answer = answer(403, { status: 403, code: 'scope_required', title: 'No' })
  advance(LIFE_SEC * 0.8)
  for (let calls = 0; calls < 20; calls += 1) {
    expect(await tokens.get('orders')).toBe('token-1-for-orders')
    await settle(5)
  }
  // After a refusal, the service is asked again after 5 s, not for each call.
  expect(service.requests).toHaveLength(2)
  advance(LIFE_SEC * 0.2)
  await expect(tokens.get('orders')).rejects.toMatchObject({
    code: 'SERVICE_REJECTED',
    hint: expect.stringContaining('scope_required'),
  })
  service.answer = issuing()
  expect(await tokens.get('orders')).toBe('token-1-for-orders')
})

test('fetch sends the token, and a new one if the old one is refused', async () => {
  const service = await buildService(issuing())
  let good = 'token-1-for-orders'
  const orders = await buildService((response, request) =>
    answer(request.headers.authorization === `Bearer ${good}` ? 200 : 401, {})(response, request),
  )
  const tokens = build(service.url)
  const init = { method: 'POST', body: '{"n":1}', headers: { 'x-mine': 'yes' } }
  expect((await tokens.fetch('orders', `${orders.url}/orders`, init)).status).toBe(200)
  good = 'token-2-for-orders'
  advance(6)
  const statuses = Array.from({ length: 10 }, async () => (await tokens.fetch('orders', orders.url, init)).status)
  expect(new Set(await Promise.all(statuses))).toEqual(new Set([200]))
  expect(service.requests).toHaveLength(2)
  expect(orders.requests.at(-1)).toMatchObject({ method: 'POST', body: { n: 1 }, headers: { 'x-mine': 'yes' } })
  // A backend that refuses everything must not make the service issue a token for each call.
  good = 'none'
  expect((await tokens.fetch('orders', orders.url)).status).toBe(401)
  expect(service.requests).toHaveLength(2)
})

test('a request whose body is a stream is sent once', async () => {
  const service = await buildService(issuing())
  const orders = await buildService(answer(401))
  const tokens = build(service.url)
  await tokens.get('orders')
  advance(6)
  const init = { method: 'POST', body: new Blob(['{}']).stream(), duplex: 'half' } as RequestInit
  expect((await tokens.fetch('orders', orders.url, init)).status).toBe(401)
  expect([service.requests.length, orders.requests.length]).toEqual([1, 1])
})

test('the first use names missing and wrong settings and quotes no value', async () => {
  vi.stubEnv('SERVICE_AUTH_URL', '')
  vi.stubEnv('SERVICE_ACCOUNT_TOKEN', 'gsa_CANARY with blanks')
  onTestFinished(() => void vi.unstubAllEnvs())
  const tokens = createServiceTokens({ appCode: 'x' } as ServiceTokenOptions)
  const { code, message } = await tokens.get('orders').catch((error) => error)
  expect(code).toBe('CONFIG_INVALID')
  expect(message).toMatch(
    /SERVICE_AUTH_URL is missing; SERVICE_ACCOUNT_TOKEN must be text without white space; appCode is not an option/,
  )
  expect(message).not.toMatch(/CANARY/)
})
