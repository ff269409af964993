import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { inspect } from 'node:util'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type AuthEvent, type AuthOptions, createAuth, definePermissions, type Registration } from './index.ts'
import { answer, buildService, NOWHERE, settle, stoppedClock, until } from './test-service.ts'
import { SECRET } from './test-tokens.ts'

const time = stoppedClock()

const SERVICE_TOKEN = 'gsa_CANARYtokenOfTheServiceAccount'
const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
const counts = { created: 1, updated: 0, pruned: 2, unchanged: 3 }
const taken = answer(200, { service: 'billing', ...counts, permissions: [] })

function buildAuth(url: string, options: AuthOptions = {}) {
  const events: AuthEvent[] = []
  const auth = createAuth({
    authUrl: url,
    appCode: 'billing',
    secret: SECRET,
    permissions,
    serviceToken: SERVICE_TOKEN,
    revocation: { mode: 'off' },
    now: time.now,
    onEvent: (event) => events.push(event),
    logger: false,
    ...options,
  })
  onTestFinished(() => auth.close())
  return { auth, events }
}

/** Returns an object that shows how `ready` has settled so far. */
function outcomeOf({ ready }: Registration) {
  const outcome: { counts?: object; error?: unknown } = {}
  ready.then(
    (value) => {
      outcome.counts = value
    },
    (error) => {
      outcome.error = error
    },
  )
  return outcome
}

test('registerPermissions sends the manifest as the service account and returns the counts', async () => {
  const service = await buildService(taken)
  const { auth, events } = buildAuth(service.url)
  expect(auth.health().registration).toBe('off')
  const { ready } = auth.registerPermissions({ revision: 12, maxPrune: 5 })
  expect(auth.health().registration).toBe('pending')
  expect(await ready).toEqual(counts)
  expect(auth.health().registration).toBe('registered')
  expect(events).toEqual([{ type: 'registration.registered', ...counts }])
  expect(service.requests).toHaveLength(1)
  const { method, url, headers, body } = service.requests[0]!
  expect([method, url, headers.authorization]).toEqual(['POST', '/api/v1/admin/permissions/register', `Bearer ${SERVICE_TOKEN}`])
  expect(headers['content-type']).toBe('application/json')
  expect(body).toEqual({
    service: 'billing',
    permissions: [
      { code: 'invoices:read', name: 'Read invoices', resource: 'invoices', action: 'read' },
      { code: 'invoices:void', name: 'Void invoices', resource: 'invoices', action: 'void' },
    ],
    revision: 12,
    max_prune: 5,
  })
})

test.each(['background', 'require'] as const)(
  'registerPermissions in mode %s rejects and names missing permissions or a missing service token',
  async (mode) => {
    for (const options of [{ serviceToken: undefined }, { permissions: undefined }] as AuthOptions[]) {
      const { auth, events } = buildAuth(NOWHERE, options)
      const { ready } = auth.registerPermissions({ mode })
      await expect(ready).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: `invalid settings: ${'permissions' in options ? 'permissions' : 'SERVICE_ACCOUNT_TOKEN'} is missing`,
      })
      expect(auth.health().registration).toBe('rejected')
      expect(events).toMatchObject([{ type: 'registration.rejected', error: { code: 'CONFIG_INVALID' } }])
    }
  },
)

test('registerPermissions without an address names the variable', async () => {
  const auth = createAuth({ appCode: 'billing', secret: SECRET, permissions, serviceToken: SERVICE_TOKEN })
  await expect(auth.registerPermissions().ready).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('SERVICE_AUTH_URL'),
  })
})

test('the token of the service account comes from SERVICE_ACCOUNT_TOKEN', async () => {
  vi.stubEnv('SERVICE_ACCOUNT_TOKEN', 'gsa_other')
  onTestFinished(() => void vi.unstubAllEnvs())
  const service = await buildService(taken)
  const { auth } = buildAuth(service.url, { serviceToken: undefined })
  await auth.registerPermissions().ready
  expect(service.requests[0]!.headers.authorization).toBe('Bearer gsa_other')
})

describe('registration in the background', () => {
  test('the registration is repeated after 1 to 60 s until it succeeds, and each reason is reported once', async () => {
    let status = 500
    const service = await buildService((...args) => answer(status++)(...args))
    const { auth, events } = buildAuth(service.url)
    const outcome = outcomeOf(auth.registerPermissions())
    await until(() => events.length === 1)
    await time.advance(100_000)
    const delays = events.flatMap((event) => (event.type === 'registration.delayed' ? [event.retryInMs] : []))
    expect(delays.slice(0, 8)).toEqual([1_500, 2_000, 3_000, 5_000, 9_000, 17_000, 30_500, 30_500])
    expect(auth.health().registration).toBe('pending')
    expect(outcome).toEqual({})

    service.answer = taken
    await time.advance(32_000)
    await until(() => outcome.counts)
    expect(outcome.counts).toEqual(counts)
    expect(events.at(-1)).toEqual({ type: 'registration.registered', ...counts })
    const { length } = service.requests
    await time.advance(70_000)
    expect(service.requests).toHaveLength(length)
  })

  test('the registration reports once that nobody listens at the address', async () => {
    const { auth, events } = buildAuth(NOWHERE)
    auth.registerPermissions()
    await until(() => events.length > 0)
    await time.advance(60_000)
    expect(events).toEqual([{ type: 'registration.delayed', reason: expect.stringMatching(/\w/), retryInMs: 1_500 }])
    expect(auth.health().registration).toBe('pending')
  })

  test.each([400, 401, 403, 404, 409, 413, 422])(
    'the registration stops at %i and reports it once, without an unhandled rejection',
    async (status) => {
      const unhandled = vi.fn()
      process.on('unhandledRejection', unhandled)
      onTestFinished(() => void process.off('unhandledRejection', unhandled))
      const service = await buildService(answer(status, { status, code: 'service_mismatch' }, { 'x-request-id': 'r-1' }))
      const { auth, events } = buildAuth(service.url)
      auth.registerPermissions()
      await until(() => events.length > 0)
      await time.advance(70_000)
      expect(events).toMatchObject([
        {
          type: 'registration.rejected',
          error: { code: 'SERVICE_REJECTED', hint: `HTTP ${status} service_mismatch`, requestId: 'r-1', retryable: false },
        },
      ])
      expect(auth.health().registration).toBe('rejected')
      expect(service.requests).toHaveLength(1)
      expect(unhandled).not.toHaveBeenCalled()
    },
  )

  test.each<[string, string, string]>([
    ['a page', 'text/html', '<html><h1>404 Not Found</h1></html>'],
    ['JSON of another shape', 'application/json', '{"message":"no Route matched with those values"}'],
    ['JSON that tells another status', 'application/json', '{"status":403,"code":"not_found"}'],
  ])('the registration goes on after a 404 with %s, which something in front of the service sent', async (_, type, body) => {
    const service = await buildService((response) => void response.writeHead(404, { 'content-type': type }).end(body))
    const { auth, events } = buildAuth(service.url)
    auth.registerPermissions()
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'registration.delayed', reason: 'HTTP 404 (not an answer of the service)' })
    service.answer = taken
    await time.advance(2_000)
    await until(() => auth.health().registration === 'registered')
  })

  test.each([408, 429, 500, 502, 503])('the registration is repeated after %i, but not before Retry-After', async (status) => {
    const service = await buildService(answer(status, {}, { 'retry-after': '20' }))
    const { auth } = buildAuth(service.url)
    const outcome = outcomeOf(auth.registerPermissions())
    await until(() => service.requests.length === 1)
    await settle()
    service.answer = taken
    await time.advance(20_000)
    expect(service.requests).toHaveLength(1)
    await time.advance(1_000)
    await until(() => outcome.counts)
  })

  test.each(['3600', '-5', 'soon', 'Wed, 21 Oct 2026 07:28:00 GMT'])(
    'the registration ignores a useless Retry-After: %s',
    async (retryAfter) => {
      const service = await buildService(answer(503, {}, { 'retry-after': retryAfter }))
      const { auth, events } = buildAuth(service.url)
      auth.registerPermissions()
      await until(() => events.length > 0)
      const { retryInMs } = events[0] as { retryInMs: number }
      expect([1_500, 60_500]).toContain(retryInMs)
    },
  )

  test.each<[string, Parameters<typeof buildService>[0]]>([
    ['a redirect', answer(302, {}, { location: '/elsewhere' })],
    ['a page', (response) => void response.setHeader('content-type', 'text/html').end('<html>')],
    ['half an answer', (response) => void response.setHeader('content-type', 'application/json').end('{"created":')],
    ['a broken connection', (response) => void response.destroy()],
  ])('the registration does not treat %s as an answer of the service', async (_, mad) => {
    const service = await buildService(mad)
    const { auth, events } = buildAuth(service.url)
    auth.registerPermissions()
    await until(() => events.length > 0)
    expect(events[0]).toMatchObject({ type: 'registration.delayed' })
    expect(auth.health().registration).toBe('pending')
  })

  test('the registration gives up an answer after 10 s and tries again', async () => {
    const service = await buildService(() => {})
    const { auth, events } = buildAuth(service.url)
    auth.registerPermissions()
    await until(() => service.requests.length === 1)
    await time.advance(9_000)
    expect(events).toEqual([])
    await time.advance(1_000)
    await until(() => events.length === 1)
    expect(events[0]).toMatchObject({ reason: 'timeout' })
    service.answer = taken
    await time.advance(2_000)
    await until(() => auth.health().registration === 'registered')
  })
})

describe('required registration', () => {
  test('a required registration fails within 5 s with SERVICE_UNREACHABLE if nobody listens, after several tries', async () => {
    let tries = 0
    const { auth, events } = buildAuth(NOWHERE, {
      fetch: (...args) => {
        tries += 1
        return fetch(...args)
      },
    })
    const outcome = outcomeOf(auth.registerPermissions({ mode: 'require' }))
    for (let seconds = 0; seconds < 5 && !outcome.error; seconds += 1) {
      await settle()
      await time.advance(1_000)
    }
    expect(outcome.error).toMatchObject({ code: 'SERVICE_UNREACHABLE', status: 503, retryable: true })
    expect(tries).toBeGreaterThan(1)
    expect(auth.health().registration).toBe('rejected')
    expect(events.at(-1)).toMatchObject({ type: 'registration.rejected', error: outcome.error })
  })

  test('a required registration fails within 5 s if the service does not answer', async () => {
    const service = await buildService(() => {})
    const { auth } = buildAuth(service.url)
    const outcome = outcomeOf(auth.registerPermissions({ mode: 'require' }))
    await until(() => service.requests.length === 1)
    await time.advance(5_000)
    await until(() => outcome.error)
    expect(outcome.error).toMatchObject({ code: 'SERVICE_UNREACHABLE', hint: 'timeout' })
  })

  test('a required registration succeeds if the service answers within that time', async () => {
    const service = await buildService(answer(503))
    const { auth } = buildAuth(service.url)
    const outcome = outcomeOf(auth.registerPermissions({ mode: 'require' }))
    await until(() => service.requests.length === 1)
    await settle()
    service.answer = taken
    await time.advance(2_000)
    await until(() => outcome.counts)
  })

  test.each([
    [409, 'prune_limit', 'PRUNE_LIMIT'],
    [409, 'permission_owned_by_other_service', 'SERVICE_REJECTED'],
    [403, 'scope_required', 'SERVICE_REJECTED'],
  ])('a required registration answered %i %s fails at once with %s', async (status, code, expected) => {
    const service = await buildService(answer(status, { status, code }, { 'x-request-id': 'r-2' }))
    const { auth } = buildAuth(service.url)
    await expect(auth.registerPermissions({ mode: 'require' }).ready).rejects.toMatchObject({
      code: expected,
      hint: `HTTP ${status} ${code}`,
      requestId: 'r-2',
    })
  })
})

describe('the end of a registration before the answer', () => {
  const endings: [string, (controller: AbortController, auth: { close(): unknown }) => void, unknown][] = [
    ['its signal', (controller) => controller.abort(new Error('enough')), { message: 'enough' }],
    ['close', (_, auth) => auth.close(), { code: 'SERVICE_UNREACHABLE', hint: expect.stringContaining('close') }],
  ]
  test.each(endings)('a registration that waits ends by %s', async (_, end, reason) => {
    // An open connection would have its own timer.
    const service = await buildService(answer(503, {}, { connection: 'close' }))
    const { auth } = buildAuth(service.url)
    const controller = new AbortController()
    const outcome = outcomeOf(auth.registerPermissions({ signal: controller.signal }))
    await until(() => service.requests.length === 1)
    await settle()
    end(controller, auth)
    await until(() => outcome.error)
    expect(outcome.error).toMatchObject(reason as object)
    expect(auth.health().registration).toBe('off')
    expect(vi.getTimerCount()).toBe(0)
    await time.advance(70_000)
    expect(service.requests).toHaveLength(1)
  })

  test.each(endings)('a registration that is being sent ends by %s', async (_, end, reason) => {
    const service = await buildService(() => {})
    const { auth } = buildAuth(service.url)
    const controller = new AbortController()
    const outcome = outcomeOf(auth.registerPermissions({ signal: controller.signal }))
    await until(() => service.requests.length === 1)
    end(controller, auth)
    await until(() => outcome.error)
    expect(outcome.error).toMatchObject(reason as object)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('a registration with an aborted signal does not begin', async () => {
    const service = await buildService(taken)
    const { auth } = buildAuth(service.url)
    const { ready } = auth.registerPermissions({ signal: AbortSignal.abort(new Error('never')) })
    await expect(ready).rejects.toThrow('never')
    expect(service.requests).toEqual([])
  })
})

test('no event, error or printed auth shows the token, even if the service or fetch quotes it', async () => {
  const echo = `Bearer ${SERVICE_TOKEN}`
  const mad = await buildService(answer(403, { code: SERVICE_TOKEN, detail: echo }))
  const quoting = () => Promise.reject(new TypeError(`invalid header value ${echo}`))
  for (const [url, options] of [
    [mad.url, {}],
    [NOWHERE, {}],
    [NOWHERE, { fetch: quoting }],
  ] as [string, AuthOptions][]) {
    const { auth, events } = buildAuth(url, options)
    const outcome = outcomeOf(auth.registerPermissions())
    await until(() => events.length > 0)
    const printed =
      inspect([auth, events, outcome, auth.health()], { depth: null, showHidden: true }) + JSON.stringify([auth, events])
    expect(printed).not.toContain('CANARY')
  }
})

test('a token that no header can carry is refused at once and is not quoted', () => {
  for (const serviceToken of [`${SERVICE_TOKEN}\n`, `${SERVICE_TOKEN} `, '']) {
    try {
      buildAuth(NOWHERE, { serviceToken })
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({ code: 'CONFIG_INVALID', message: expect.stringContaining('SERVICE_ACCOUNT_TOKEN') })
      expect(inspect(error, { showHidden: true })).not.toContain('CANARY')
    }
  }
})

describe('the process with a registration', () => {
  /** Runs a program that registers at an address where nothing listens. Returns its exit code, or the signal that ended it. */
  async function run(lines: string): Promise<unknown> {
    const source = `
      import { createAuth, definePermissions } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
      const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices' })
      const auth = createAuth({ authUrl: ${JSON.stringify(NOWHERE)}, appCode: 'billing', secret: ${JSON.stringify(SECRET)}, permissions,
        serviceToken: 'gsa_x', revocation: { mode: 'off' } })
      ${lines}`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: ['ignore', 'ignore', 'ignore'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    return new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code)))
  }

  test('the process ends when its work is done, although the registration has not succeeded', async () => {
    expect(await run('auth.registerPermissions()')).toBe(0)
  })

  test('the process stays alive while it waits for ready', async () => {
    // The program exits with 7 on the second try. With 13, it would have ended because it had nothing left to do.
    const lines = `auth.health()
      let tries = 0
      const trying = createAuth({ authUrl: 'http://127.0.0.1:9', appCode: 'billing', secret: ${JSON.stringify(SECRET)}, permissions,
        serviceToken: 'gsa_x', revocation: { mode: 'off' }, fetch: async () => { tries += 1; if (tries === 2) process.exit(7); throw new Error() } })
      await trying.registerPermissions().ready`
    expect(await run(lines)).toBe(7)
  })

  test('the process ends by an unhandled rejection if a required registration fails', async () => {
    expect(
      await run(`createAuth({ authUrl: 'http://127.0.0.1:9', appCode: 'billing', secret: ${JSON.stringify(SECRET)} })
      .registerPermissions({ mode: 'require' })`),
    ).toBe(1)
  })
})
