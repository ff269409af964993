import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Auth, type AuthOptions, createAuth } from './index.ts'
import { requireAuth } from './koa.ts'
import { type Answer, answer, buildService, NOWHERE, settle, stoppedClock, until } from './test-service.ts'
import { CLAIMS, createKid, NOW, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

// What a backend learns at its start: whether its settings fit the service, and what was revoked.

const time = stoppedClock()

const KID = createKid(SECRET)
const appOf = (members: object = {}) => ({
  id: CLAIMS.app_id,
  code: 'billing',
  status: 'active',
  permission_scope: 'roles',
  signing: 'shared',
  ...members,
})
const consumer = (members: object = {}): Answer =>
  answer(200, { service_id: 's-1', app: appOf(), kids: [KID], time: new Date(NOW * 1000).toISOString(), ...members })
const refusing = (code: string, headers: Record<string, string> = {}): Answer =>
  answer(401, { status: 401, code, title: 'x' }, { date: new Date(NOW * 1000).toUTCString(), ...headers })

function buildAuth(authUrl: string, options: AuthOptions = {}): { auth: Auth; lines: string[] } {
  const lines: string[] = []
  const usual = { appCode: 'billing', secret: SECRET, issuer: 'gatehouse', revocation: { mode: 'off' }, now: time.now } as const
  const auth = createAuth({ authUrl, ...usual, logger: { warn: (line) => void lines.push(line) }, ...options })
  onTestFinished(() => auth.close())
  return { auth, lines }
}

describe('check', () => {
  test('check returns the service id, the app and the clock skew', async () => {
    const service = await buildService(consumer())
    const { auth } = buildAuth(service.url)
    expect(await auth.check()).toEqual({ ok: true, faults: [], serviceId: 's-1', app: appOf(), clockSkewSec: 0 })
    expect(service.requests.map(({ method, url }) => [method, url])).toEqual([['GET', '/api/v1/consumer']])
  })

  const faults: [name: string, answer: Answer, code: string, hint: RegExp, options?: AuthOptions][] = [
    [
      'a secret that the service does not have',
      refusing('token_invalid'),
      'secret',
      new RegExp(`does not have key ${KID} [(]JWT_ACCESS_SECRET[)]`),
    ],
    ['a secret in quotes', refusing('token_invalid'), 'secret', /the secret is in quotes$/, { secret: `"${SECRET}"` }],
    [
      'a secret that the service takes, and signs with another',
      consumer({ kids: [createKid(PREVIOUS_SECRET), KID] }),
      'secret',
      new RegExp(`signs with key ${createKid(PREVIOUS_SECRET)}, JWT_ACCESS_SECRET is key ${KID}$`),
    ],
    [
      'a code that no app has',
      refusing('app_not_found'),
      'app_code',
      /no app at http:\/\/127[.]0[.]0[.]1:\d+ has the code "billing" [(]SERVICE_APP_CODE[)]$/,
    ],
    [
      'the id of another app',
      consumer({ app: appOf({ id: 'a-2' }) }),
      'app_id',
      new RegExp(`expected the app "billing" at .* to have the id "${CLAIMS.app_id}" [(]SERVICE_APP_ID[)], got "a-2"$`),
      { appId: CLAIMS.app_id },
    ],
    [
      'an inactive app',
      consumer({ app: appOf({ status: 'inactive' }) }),
      'app_inactive',
      /to be active, got "inactive": its tokens are not valid$/,
    ],
    [
      'a clock that is 8 s behind',
      consumer({ time: new Date((NOW + 8) * 1000).toISOString() }),
      'clock',
      /the clock of this machine is 8 s behind that of the service, clockToleranceSec is 5$/,
    ],
    [
      'a clock that is 2 minutes behind, so that the service refuses',
      refusing('token_expired', { date: new Date((NOW + 120) * 1000).toUTCString() }),
      'clock',
      /is 120 s behind that of the service/,
    ],
    [
      'a clock that is 2 minutes ahead',
      refusing('token_invalid', { date: new Date((NOW - 120) * 1000).toUTCString() }),
      'clock',
      /is 120 s ahead of that of the service/,
    ],
    [
      'an address where something else answers',
      (response) => void response.writeHead(404, { 'content-type': 'text/html' }).end('<html>'),
      'unreachable',
      /no service answers at http:\/\/127[.]0[.]0[.]1:\d+ [(]SERVICE_AUTH_URL[)]: HTTP 404 [(]not an answer of the service[)]$/,
    ],
    ['an answer of another shape', answer(200, { items: [] }), 'unreachable', /its response has another shape$/],
  ]
  test.each(faults)('check reports %s', async (_, answered, code, hint, options) => {
    const service = await buildService(answered)
    const { auth } = buildAuth(service.url, options)
    expect(await auth.check()).toMatchObject({ ok: false, faults: [{ code, hint: expect.stringMatching(hint) }] })
  })

  test('check reports an address where nobody listens, and a missing one', async () => {
    expect(await buildAuth(NOWHERE).auth.check()).toMatchObject({ ok: false, faults: [{ code: 'unreachable' }], app: null })
    const auth = createAuth({ appCode: 'billing', secret: SECRET, revocation: { mode: 'off' } })
    const faults = [{ code: 'unreachable', hint: expect.stringContaining('SERVICE_AUTH_URL is missing') }]
    expect(await auth.check()).toMatchObject({ ok: false, faults })
  })

  test('check accepts an older service without this route', async () => {
    const service = await buildService(answer(404, { status: 404, code: 'not_found', title: 'Not found' }))
    expect(await buildAuth(service.url).auth.check()).toMatchObject({ ok: true, faults: [], app: null })
  })

  test('check shows no secret and no assertion, even if the service sends them back', async () => {
    const service = await buildService((response, { headers }) =>
      consumer({ app: appOf({ id: headers.authorization, status: `x\n${SECRET}` }), kids: [headers.authorization] })(
        response,
        {} as never,
      ),
    )
    const { auth } = buildAuth(service.url, { appId: CLAIMS.app_id })
    const { faults } = await auth.check()
    expect(faults.map(({ code }) => code)).toEqual(['secret', 'app_id', 'app_inactive'])
    expect(faults.map(({ hint }) => hint).join()).not.toMatch(/\n|eyJ|the tests share/)
  })
})

describe('the startup check', () => {
  test('the startup check with warn logs the fault once', async () => {
    const service = await buildService(refusing('app_not_found'))
    const { lines } = buildAuth(service.url, { check: 'warn' })
    await until(() => lines.length > 0)
    await settle()
    expect(lines).toEqual([expect.stringMatching(/^gatehouse: the startup check failed: no app at .* has the code "billing"/)])
    expect(service.requests).toHaveLength(1)
  })

  test('the startup check logs nothing without a fault, and does not run by default in tests or without a service', async () => {
    const service = await buildService(consumer())
    const checked = buildAuth(service.url, { check: 'warn' })
    await until(() => service.requests.length === 1)
    buildAuth(service.url)
    createAuth({ appCode: 'billing', secret: SECRET })
    await settle()
    expect(service.requests).toHaveLength(1)
    expect(checked.lines).toEqual([])
  })

  test('the startup check in production warns of an http:// address, unless it is this machine', async () => {
    vi.stubEnv('NODE_ENV', 'production')
    onTestFinished(() => void vi.unstubAllEnvs())
    const fetch = async () =>
      Response.json({ service_id: 's', app: appOf(), kids: [KID], time: new Date(NOW * 1000).toISOString() })
    const { lines } = buildAuth('http://auth.example.com', { fetch })
    await until(() => lines.length > 0)
    expect(lines).toEqual([expect.stringContaining('SERVICE_AUTH_URL begins with http:// in production')])
    for (const url of ['http://127.0.0.1:9', 'http://localhost:9', 'http://[::1]:9', 'https://auth.example.com']) {
      const other = buildAuth(url, { fetch })
      await other.auth.check()
      await settle()
      expect(other.lines).toEqual([])
    }
  })

  test('a second createAuth for the same app is logged once, until the first is closed', async () => {
    const service = await buildService(() => {})
    const revocation = { mode: 'feed' } as const
    const first = buildAuth(service.url, { revocation })
    await settle()
    const second = buildAuth(service.url, { revocation })
    await until(() => second.lines.length > 0)
    const third = buildAuth(service.url, { revocation })
    const other = buildAuth(service.url, { revocation, appCode: 'shop' })
    await settle()
    const told = `gatehouse: createAuth was called again for billing at ${service.url}, which opens another stream: create one and share it`
    expect([first, second, third, other].map(({ lines }) => lines)).toEqual([[], [told], [], []])
    await Promise.all([first, second, third].map(({ auth }) => auth.close()))
    expect(buildAuth(service.url, { revocation }).lines).toEqual([])
  })

  describe('a guard that asks for permissions', () => {
    const keepsNobodyOut =
      /a guard that asks for permissions lets everyone in: .*permission_scope: services.*authctl app update billing/

    test('a guard that asks for permissions is reported once if every token carries all of them', async () => {
      const service = await buildService(consumer({ app: appOf({ permission_scope: 'services' }) }))
      const { auth, lines } = buildAuth(service.url, { check: 'warn' })
      requireAuth(auth, { permissions: ['invoices:read'] })
      requireAuth(auth, { anyOf: ['invoices:read'] })
      await until(() => lines.length > 0)
      requireAuth(auth, { permissions: ['invoices:void'] })
      await settle()
      expect(lines).toEqual([expect.stringMatching(keepsNobodyOut)])
    })

    test('a guard is not reported if roles decide, or if it asks for no permissions', async () => {
      const roles = await buildService(consumer())
      const first = buildAuth(roles.url, { check: 'warn' })
      requireAuth(first.auth, { permissions: ['invoices:read'] })
      const services = await buildService(consumer({ app: appOf({ permission_scope: 'services' }) }))
      const second = buildAuth(services.url, { check: 'warn' })
      requireAuth(second.auth, { role: 'clerk' })
      await until(() => roles.requests.length + services.requests.length === 2)
      await settle()
      expect([first.lines, second.lines]).toEqual([[], []])
    })
  })

  test('the startup check with exit ends the process with 1 and names the fault', async () => {
    const exiting = `createAuth({ check: 'exit', revocation: { mode: 'off' } })`
    const service = await buildService(refusing('app_not_found'))
    expect(await run(service.url, exiting)).toEqual({
      code: 1,
      said: expect.stringMatching(/^gatehouse: the startup check failed: no app at .*has the code "billing"/),
    })
    const good = await buildService((response, request) => consumer({ time: new Date().toISOString() })(response, request))
    expect(await run(good.url, exiting)).toEqual({ code: 0, said: '' })
  })
})

/** Runs a program against the service, with its settings in the environment. Returns its exit code and its stderr. */
async function run(url: string, lines: string): Promise<{ code: unknown; said: string }> {
  const source = `import { createAuth } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}\n${lines}`
  const settings = { SERVICE_AUTH_URL: url, SERVICE_APP_CODE: 'billing', JWT_ACCESS_SECRET: SECRET }
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    cwd: fileURLToPath(new URL('.', import.meta.url)),
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  return new Promise((resolve) => child.once('close', (code, signal) => resolve({ code: signal ?? code, said })))
}

describe('ready', () => {
  const feed = (response: Parameters<Answer>[0]) =>
    answer(200, { items: [], cursor: 1, has_more: false, reset: false })(response, {} as never)

  test('ready waits for the first revocations', async () => {
    const service = await buildService(answer(503))
    const { auth, lines } = buildAuth(service.url, { revocation: { mode: 'feed' } })
    let isReady = false
    const ready = auth.ready.then(() => {
      isReady = true
    })
    await until(() => lines.length > 0)
    await settle()
    expect(isReady).toBe(false)
    service.answer = feed
    await time.advance(6_000)
    await ready
    await auth.ready
  })

  test('ready resolves at once if no feed is followed', async () => {
    await buildAuth(NOWHERE).auth.ready
    await buildAuth(NOWHERE, { revocation: { mode: 'custom', isCurrent: () => true } }).auth.ready
  })

  test('ready rejects when auth is closed first, and causes no unhandled rejection', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    onTestFinished(() => void process.off('unhandledRejection', unhandled))
    for (const isAwaited of [true, false]) {
      const { auth } = buildAuth(NOWHERE, { revocation: { mode: 'feed' } })
      const { ready } = auth
      await auth.close()
      if (isAwaited) await expect(ready).rejects.toMatchObject({ code: 'SERVICE_UNREACHABLE', hint: 'auth.close()' })
    }
    await settle()
    expect(unhandled).not.toHaveBeenCalled()
  })

  const notReady = (url: string, reason: string) =>
    `gatehouse: not ready: waiting for the first revocations from ${url} (${reason})`

  test('ready logs what it waits for after 3 s and each minute, and nothing once the revocations have arrived', async () => {
    const service = await buildService(answer(503))
    const { auth, lines } = buildAuth(service.url, { revocation: { mode: 'feed' } })
    const said = () => lines.filter((line) => line.includes('not ready'))
    const { ready } = auth
    const again = auth.ready
    await until(() => lines.length > 0)
    await time.advance(2_000)
    expect(said()).toEqual([])
    await time.advance(1_000)
    const line = notReady(service.url, 'HTTP 503 (not an answer of the service)')
    expect(said()).toEqual([line])
    await time.advance(59_000)
    expect(said()).toEqual([line])
    await time.advance(1_000)
    expect(said()).toEqual([line, line])
    service.answer = feed
    await time.advance(6_000)
    await Promise.all([ready, again])
    await time.advance(120_000)
    expect(said()).toHaveLength(2)
  })

  test('ready logs what it waits for also if the service never answers', async () => {
    const service = await buildService(() => {})
    const { auth, lines } = buildAuth(service.url, { revocation: { mode: 'feed' } })
    auth.ready.catch(() => {})
    await time.advance(3_000)
    expect(lines).toEqual([notReady(service.url, 'no answer yet')])
  })

  test('readyWithin resolves to false after its time, and to true as soon as the revocations have arrived', async () => {
    const service = await buildService(answer(503))
    const { auth, lines } = buildAuth(service.url, { revocation: { mode: 'feed' } })
    const result = auth.readyWithin(5)
    await time.advance(5_000)
    expect(await result).toBe(false)
    const told = lines.filter((line) => line.includes('not ready')).length
    expect(told).toBe(1)
    await time.advance(120_000)
    expect(lines.filter((line) => line.includes('not ready'))).toHaveLength(told)
    service.answer = feed
    const second = auth.readyWithin(30)
    await time.advance(6_000)
    expect(await second).toBe(true)
    expect(await auth.readyWithin(0)).toBe(true)
  })

  test('readyWithin is true without a feed, false after close, and refuses an invalid number of seconds', async () => {
    expect(await buildAuth(NOWHERE).auth.readyWithin(5)).toBe(true)
    const { auth } = buildAuth(NOWHERE, { revocation: { mode: 'feed' } })
    const waiting = auth.readyWithin(5)
    await auth.close()
    expect([await waiting, await auth.readyWithin(5)]).toEqual([false, false])
    for (const seconds of [Number.NaN, -1, 1e9, '5x'])
      await expect(auth.readyWithin(seconds as number)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  test('readyWithin keeps the process alive for its time, and no longer', async () => {
    const service = await buildService(() => {})
    vi.useRealTimers()
    const lines = `console.error(await createAuth({ check: 'off' }).readyWithin(0.2))`
    expect(await run(service.url, lines)).toEqual({ code: 0, said: 'false\n' })
  })

  test('ready keeps the process alive while it is awaited, and no longer', async () => {
    const service = await buildService(
      (response, { url }) => void (url!.includes('/stream') || setTimeout(() => feed(response), 200)),
    )
    vi.useRealTimers()
    const lines = `await createAuth({ check: 'off' }).ready; console.error('ready')`
    expect(await run(service.url, lines)).toEqual({ code: 0, said: 'ready\n' })
  })
})

describe('a lazy auth', () => {
  const variables = ['SERVICE_APP_CODE', 'JWT_ACCESS_SECRET', 'SERVICE_AUTH_URL']
  beforeEach(() => {
    for (const name of variables) vi.stubEnv(name, undefined)
  })
  afterEach(() => {
    vi.unstubAllEnvs()
  })

  test('a lazy auth reads no settings before its first use', async () => {
    const auth = createAuth({ lazy: true, revocation: { mode: 'off' }, issuer: 'gatehouse', now: time.now })
    const guard = requireAuth(auth, { permissions: ['invoices:read'] })
    expect(guard).toBeTypeOf('function')
    await auth.close()
    vi.stubEnv('SERVICE_APP_CODE', 'billing')
    vi.stubEnv('JWT_ACCESS_SECRET', SECRET)
    const handed = (async () => auth)()
    expect((await (await handed).verify(signToken())).userId).toBe(CLAIMS.uid)
    expect(auth.verifySync(signToken()).userId).toBe(CLAIMS.uid)
    expect(auth.health().kids).toEqual([KID])
  })

  test('a lazy auth throws its faults at the first use, in each method', async () => {
    const auth = createAuth({ lazy: true, logger: false })
    const invalid = { code: 'CONFIG_INVALID', message: expect.stringContaining('SERVICE_APP_CODE is missing') }
    const uses = [
      () => auth.verify('x'),
      () => auth.safeVerify('x'),
      () => auth.authenticate({}),
      () => auth.health(),
      () => auth.ready,
      () => auth.api,
    ]
    for (const use of uses) await expect((async () => use())()).rejects.toMatchObject(invalid)
  })

  test('a lazy auth warns of the permissions of a guard at the first request that the guard lets in', async () => {
    const service = await buildService(consumer({ app: appOf({ permission_scope: 'services' }) }))
    const lines: string[] = []
    const usual = {
      authUrl: service.url,
      appCode: 'billing',
      secret: SECRET,
      revocation: { mode: 'off' },
      now: time.now,
    } as const
    const auth = createAuth({ ...usual, lazy: true, check: 'warn', logger: { warn: (line) => void lines.push(line) } })
    onTestFinished(() => auth.close())
    const guard = requireAuth(auth, { permissions: ['invoices:read'] })
    await settle()
    expect(service.requests).toHaveLength(0)
    const headers = { authorization: `Bearer ${signToken({ permissions: ['invoices:read'] })}` }
    await guard({ headers, state: {} } as never, async () => {})
    await until(() => lines.length > 0)
    expect(lines).toEqual([expect.stringContaining('lets everyone in')])
  })
})
