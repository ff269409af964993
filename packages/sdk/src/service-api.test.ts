import { createHmac, hkdfSync } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { type AuthOptions, createAuth } from './index.ts'
import { answer, buildService, NOWHERE, settle, stoppedClock, until } from './test-service.ts'
import { createKid, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

const time = stoppedClock()

const SERVICE_TOKEN = 'gsa_CANARYtokenOfTheServiceAccount'
const token = signToken({ jti: 'CANARY' })

function buildApi(url: string, options: AuthOptions = {}) {
  const usual = { appCode: 'billing', secret: SECRET, serviceToken: SERVICE_TOKEN, revocation: { mode: 'off' } } as const
  const auth = createAuth({ ...usual, authUrl: url, now: time.now, ...options })
  onTestFinished(() => auth.close())
  return auth.api
}

/** Moves time on until the call has ended. Returns how it ended. */
async function endOf(call: Promise<unknown>): Promise<{ value?: unknown; error?: unknown; afterMs: number }> {
  const start = time.now()
  let end: { value?: unknown; error?: unknown } | undefined
  call.then(
    (value) => {
      end = { value }
    },
    (error) => {
      end = { error }
    },
  )
  for (let i = 0; end === undefined && i < 40; i += 1) {
    await settle(15)
    if (end === undefined) await time.advance(500)
  }
  return { ...end, afterMs: time.now() - start }
}

test('introspect authenticates with an assertion of the app and returns the answer of the service', async () => {
  const service = await buildService(answer(200, { active: true, uid: 'u-1', scope: 'a:read' }))
  expect(await buildApi(service.url).introspect(token)).toEqual({ active: true, uid: 'u-1', scope: 'a:read' })
  const { method, url, headers, body } = service.requests[0]!
  expect([method, url, body]).toEqual(['POST', '/api/v1/auth/introspect', { token }])
  const [header, payload, signature] = headers.authorization!.replace('Bearer ', '').split('.') as [string, string, string]
  const key = Buffer.from(hkdfSync('sha256', SECRET, '', 'gatehouse-consumer', 32))
  expect(signature).toBe(createHmac('sha256', key).update(`${header}.${payload}`).digest('base64url'))
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ typ: 'consumer+jwt', kid: createKid(SECRET) })
})

test('introspect shows the previous secret if the service refuses the current one', async () => {
  const service = await buildService((response, request) => {
    const { kid } = JSON.parse(Buffer.from(request.headers.authorization!.slice(7).split('.')[0]!, 'base64url').toString())
    const isKnown = kid === createKid(PREVIOUS_SECRET)
    answer(isKnown ? 200 : 401, isKnown ? { active: false } : {})(response, request)
  })
  expect(await buildApi(service.url, { secret: [SECRET, PREVIOUS_SECRET] }).introspect(token)).toEqual({ active: false })
})

test('registerOrReturn authenticates as the service account and always sends the mode register_or_return', async () => {
  const known = {
    created: false,
    user: { id: 'u-1' },
    app: { id: 'a-1', code: 'billing' },
    access: 'granted',
    organization: null,
  }
  const service = await buildService(answer(200, known))
  const api = buildApi(service.url, { secret: [SECRET, PREVIOUS_SECRET] })
  const user = { email: 'ada@example.com', password: 'correct horse', campaign: 'spring' }
  expect(await api.registerOrReturn({ ...user, mode: 'register' })).toEqual(known)
  expect(await api.registerOrReturn({ ...user, app_code: 'shop' })).toEqual(known)
  expect(service.requests.map(({ url, headers: { authorization } }) => [url, authorization])).toEqual(
    Array(2).fill(['/api/v1/auth/register', `Bearer ${SERVICE_TOKEN}`]),
  )
  expect(service.requests.map(({ body }) => body)).toEqual(
    ['billing', 'shop'].map((app_code) => ({ ...user, app_code, mode: 'register_or_return' })),
  )
})

test('a service account that is refused is not tried again', async () => {
  const service = await buildService(answer(401, { status: 401, code: 'token_invalid' }))
  const api = buildApi(service.url, { secret: [SECRET, PREVIOUS_SECRET] })
  await expect(api.registerOrReturn({ email: 'a', password: 'b' })).rejects.toMatchObject({ code: 'SERVICE_REJECTED' })
  expect(service.requests).toHaveLength(1)
})

test.each([429, 500, 502, 503])(
  'a call answered %i is tried twice more and then fails with SERVICE_UNREACHABLE and the request id',
  async (status) => {
    const service = await buildService(
      answer(status, { status, code: 'unavailable' }, { 'x-request-id': 'r-9', 'retry-after': '2' }),
    )
    const { error, afterMs } = await endOf(buildApi(service.url).introspect(token))
    expect(error).toMatchObject({
      code: 'SERVICE_UNREACHABLE',
      requestId: 'r-9',
      retryable: true,
      hint: `HTTP ${status} unavailable`,
      headers: { 'Retry-After': '2' },
    })
    expect(service.requests).toHaveLength(3)
    expect(afterMs).toBeGreaterThanOrEqual(4_000)
  },
)

test('a call that succeeds at the third try returns its result', async () => {
  const answers = [answer(503, {}, { 'retry-after': '1' }), answer(429), answer(200, { active: false })]
  const service = await buildService((...args) => answers.shift()!(...args))
  expect(await endOf(buildApi(service.url).introspect(token))).toMatchObject({ value: { active: false } })
})

test.each([
  [400, 'validation_failed'],
  [403, 'scope_required'],
  [404, 'app_not_found'],
  [409, 'user_exists'],
])('a call answered %i %s fails with SERVICE_REJECTED and the request id, and is not tried again', async (status, code) => {
  const service = await buildService(answer(status, { status, code }, { 'x-request-id': 'r-7' }))
  const call = buildApi(service.url).registerOrReturn({ email: 'ada@example.com', password: 'CANARY horse' })
  await expect(call).rejects.toMatchObject({
    code: 'SERVICE_REJECTED',
    requestId: 'r-7',
    retryable: false,
    hint: `HTTP ${status} ${code}`,
  })
  expect(service.requests).toHaveLength(1)
})

test('a call without an answer ends after 10 s', async () => {
  const service = await buildService(() => {})
  const { error, afterMs } = await endOf(buildApi(service.url).introspect(token))
  expect(error).toMatchObject({ code: 'SERVICE_UNREACHABLE', hint: 'timeout' })
  expect(afterMs).toBe(10_000)
  expect(service.requests).toHaveLength(1)
})

test('a call that would wait longer than 10 s ends at once', async () => {
  const service = await buildService(answer(503, {}, { 'retry-after': '30' }))
  await expect(buildApi(service.url).introspect(token)).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE' })
  expect(service.requests).toHaveLength(1)
})

test('a call ends when auth is closed', async () => {
  const service = await buildService(() => {})
  const auth = createAuth({ authUrl: service.url, appCode: 'billing', secret: SECRET, revocation: { mode: 'off' } })
  const call = auth.api.introspect(token).catch((error: unknown) => error)
  await until(() => service.requests.length === 1)
  await auth.close()
  expect(await call).toMatchObject({ code: 'SERVICE_UNREACHABLE', hint: expect.stringContaining('close') })
})

test('a call names its missing settings', async () => {
  const api = buildApi(NOWHERE, { serviceToken: undefined, authUrl: undefined })
  const invalid = (name: string) => ({ code: 'CONFIG_INVALID', message: expect.stringContaining(name) })
  await expect(api.registerOrReturn({ email: 'a', password: 'b' })).rejects.toMatchObject(invalid('SERVICE_ACCOUNT_TOKEN'))
  await expect(api.introspect(token)).rejects.toMatchObject(invalid('SERVICE_AUTH_URL'))
})

test('no error shows a token or a password, even if the service or fetch quotes it', async () => {
  const mad = await buildService((response, { headers, body }) =>
    answer(400, { code: (body as { token: string }).token, detail: headers.authorization })(response, { headers, body } as never),
  )
  const half = await buildService(
    (response, { body }) => void response.setHeader('content-type', 'application/json').end(JSON.stringify(body).slice(0, -1)),
  )
  const quoting = (_: unknown, init: { body?: unknown } = {}) => Promise.reject(new TypeError(`cannot send ${init.body}`))
  for (const [url, options] of [
    [mad.url, {}],
    [half.url, {}],
    [NOWHERE, { fetch: quoting as typeof fetch }],
  ] as [string, AuthOptions][]) {
    const api = buildApi(url, options)
    const user = { email: 'ada@example.com', password: 'CANARY horse' }
    for (const call of [() => api.introspect(token), () => api.registerOrReturn(user)]) {
      const { error } = await endOf(call())
      expect(error).toBeInstanceOf(Error)
      const printed = inspect(error, { depth: null, showHidden: true }) + JSON.stringify(error)
      expect(printed).not.toContain('CANARY')
      expect(printed).not.toContain('eyJ')
    }
  }
})
