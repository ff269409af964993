// What the log of a backend says about the commonest mistakes: each line of the table in
// docs/guard-a-backend/sdk.md, provoked against the real service.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { AuthError, type AuthOptions, createAuth, definePermissions } from '@gatehouse/sdk'
import { createBrowserAuth } from '@gatehouse/sdk/browser'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { appFixture, fixture, serviceFixture } from '../support/fixtures.ts'
import { freePort } from '../support/free-port.ts'
import { ACCESS_SECRET, buildApp, buildService, buildUser, type Json, PASSWORD, unique } from '../support/service.ts'

const service = serviceFixture()
const elsewhere = serviceFixture({ JWT_ACCESS_SECRET: 'the secret of another environment, 32 characters and more' })
const app = appFixture(service)
const user = fixture(() => buildUser(service, app))

const page = readFileSync(new URL('../../docs/guard-a-backend/sdk.md', import.meta.url), 'utf8')
const [, table = ''] = /## The commonest mistakes\n(.*?)\n## /s.exec(page)!
/** The log lines that the page documents, by mistake. */
const documented = new Map(
  [...table.matchAll(/^\| (?!Mistake)([^|]+) \| ([^|]+) \| [^|]+ \|$/gm)].map(([, mistake = '', lines = '']) => [
    mistake,
    [...lines.matchAll(/`([^`]+)`/g)].map(([, line = '']) => line),
  ]),
)

afterEach(() => {
  vi.unstubAllEnvs()
})

/** The log of a backend with these settings, which verifies one token of a user of the app. */
function startBackend(options: AuthOptions = {}): string[] {
  const lines: string[] = []
  const logger = { warn: (line: string) => void lines.push(line) }
  const usual = { authUrl: service.url, appCode: app.code, secret: ACCESS_SECRET, check: 'warn', logger } as const
  const auth = createAuth({ ...usual, ...options })
  onTestFinished(() => auth.close())
  const { serviceToken, permissions } = options
  if (serviceToken && permissions) auth.registerPermissions()
  // The backend may not know its app until the feed or the check has told it.
  void (async () => {
    while (!auth.health().revocation.connected && lines.length === 0) await sleep(5)
    await auth.safeVerify(user.access_token)
  })()
  return lines
}

const notFound = async () => new Response('<html>not found</html>', { status: 404, headers: { 'content-type': 'text/html' } })
const forbidden = async () => new Response('<html>forbidden</html>', { status: 403, headers: { 'content-type': 'text/html' } })

/** Makes each mistake, and returns what is logged. */
const provoke: Record<string, () => string[][] | Promise<string[][]>> = {
  'a wrong secret, in quotes or with a blank': () => [
    startBackend({ secret: 'not the secret of the service, but long enough' }),
    startBackend({ secret: `"${ACCESS_SECRET}"` }),
    startBackend({ secret: `${ACCESS_SECRET}\n` }),
  ],
  'a wrong app code': () => [startBackend({ appCode: unique('none') })],
  'a wrong app id': async () => [startBackend({ appId: (await buildApp(service)).id })],
  'the address of another environment': () => [startBackend({ authUrl: elsewhere.url })],
  'a clock that is off by two minutes': () => [startBackend({ now: () => Date.now() + 120_000 }), startExpired()],
  'the service account of another service': async () => {
    const body = { name: 'boot', service: unique('other') }
    const serviceToken = (await service.admin('POST', '/admin/service-accounts', { body })).body.token
    return [startBackend({ serviceToken, permissions: definePermissions(unique('notes'), { 'notes:read': 'Read notes' }) })]
  },
  '`http://` in production': () => {
    vi.stubEnv('NODE_ENV', 'production')
    const authUrl = 'http://auth.example.com'
    return [startBackend({ authUrl, fetch: (url, init) => fetch(String(url).replace(authUrl, service.url), init) })]
  },
  'an inactive app': async () => [startBackend({ appCode: (await buildApp(service, { status: 'inactive' })).code })],
  'a variable that is missing or misspelt': () => {
    vi.stubEnv('SERVICE_APP_DI', app.id)
    return [startBackend(), refusalOf({ appCode: app.code, authUrl: service.url })]
  },
  'no address of the service': () => [refusalOf({ appCode: app.code, secret: ACCESS_SECRET })],
  'a token without `Bearer`': () => {
    const lines: string[] = []
    const auth = createAuth({
      authUrl: service.url,
      appCode: app.code,
      secret: ACCESS_SECRET,
      logger: { warn: (line) => void lines.push(line) },
    })
    onTestFinished(() => auth.close())
    auth.authenticate({ authorization: user.access_token }).catch(() => {})
    return [lines]
  },
  'an address with a path': () => [startBackend({ authUrl: `${service.url}/login` })],
  'an address without `https://`': () => [refusalOf({ appCode: app.code, secret: ACCESS_SECRET, authUrl: 'login.example.com' })],
  'a port where nothing listens': async () => [startBackend({ authUrl: `http://127.0.0.1:${await freePort()}` })],
  'a page whose origin is refused': async () => [await refusedPage()],
  'a `.env` that is read too late, as by Nest': () => [refusalOf({})],
  'a proxy that blocks the feed': () => [
    startBackend({ fetch: (url, init) => (String(url).includes('/stream') ? notFound() : fetch(url, init)) }),
    startBackend({ fetch: (url, init) => (String(url).includes('/revocations') ? forbidden() : fetch(url, init)) }),
  ],
}

/** What the service logs, and the hint of the error in the page. */
async function refusedPage(): Promise<string[]> {
  const narrow = await buildService({ AUTH_CORS_ORIGINS: 'https://notes.example' })
  const lines: string[] = []
  vi.spyOn(narrow.deps.logger, 'warn').mockImplementation((...given: unknown[]) => void lines.push(JSON.stringify(given)))
  const origin = 'https://other.example'
  const headers = { origin, 'access-control-request-method': 'POST' }
  const ask = () => fetch(`${narrow.url}/api/v1/auth/login`, { method: 'OPTIONS', headers })
  for (let times = 0; times < 3; times += 1) expect((await ask()).headers.get('access-control-allow-origin')).toBeNull()
  expect(lines).toEqual([expect.stringContaining(origin)])
  // A browser gives the page no answer.
  vi.stubGlobal('fetch', async () => {
    throw new TypeError('Failed to fetch')
  })
  vi.stubGlobal('location', new URL(origin))
  const auth = createBrowserAuth({ authUrl: narrow.url, appCode: app.code, storage: 'memory' })
  const { error } = await auth.login({ email: 'ada@example.com', password: PASSWORD })
  vi.unstubAllGlobals()
  expect(error?.hint).toContain(origin)
  return [...lines, error?.hint ?? '']
}

/** What `createAuth` throws in production. */
function refusalOf(options: AuthOptions): string[] {
  vi.stubEnv('NODE_ENV', 'production')
  try {
    createAuth(options)
    return []
  } catch (error) {
    return AuthError.is(error, 'CONFIG_INVALID') ? [error.message] : []
  }
}

/** A backend by whose clock the user's token has expired. */
function startExpired(): string[] {
  return startBackend({ now: () => Date.now() + 3_600_000 })
}

/** `…` in the words of the page stands for anything. */
const patternOf = (words: string) =>
  new RegExp(
    words
      .split('…')
      .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*'),
  )

describe('the log of a backend', () => {
  test('the page lists seventeen mistakes, and this file makes each of them', () => {
    expect([...documented.keys()]).toEqual(Object.keys(provoke))
    expect(documented.size).toBe(17)
  })

  test.each([...documented])('the log explains this mistake: %s', async (mistake, expected) => {
    const backends = await provoke[mistake]!()
    for (const words of expected) {
      const pattern = patternOf(words)
      await expect.poll(() => backends.flat().filter((line) => pattern.test(line)), { message: words }).not.toEqual([])
    }
    const written = backends.flat().join('\n')
    expect(written).not.toContain(ACCESS_SECRET)
    expect(written).not.toMatch(/eyJ|gsa_/)
  })

  test('the log says that a secret is in quotes or has white space around it', async () => {
    const [, quoted, padded] = (await provoke['a wrong secret, in quotes or with a blank']!()) as [string[], string[], string[]]
    await expect.poll(() => quoted).toContainEqual(expect.stringMatching(/the secret is in quotes$/))
    await expect.poll(() => padded).toContainEqual(expect.stringMatching(/the secret begins or ends with white space$/))
  })

  test('the log is empty if nothing is wrong', async () => {
    const lines: string[] = []
    const logger = { warn: (line: string) => void lines.push(line) }
    const roles: Json = await buildApp(service, { auto_grant_on_signup: true, permission_scope: 'roles' })
    const auth = createAuth({
      authUrl: service.url,
      appCode: roles.code,
      appId: roles.id,
      secret: ACCESS_SECRET,
      check: 'warn',
      logger,
    })
    onTestFinished(() => auth.close())
    await auth.ready
    const { access_token: token } = await buildUser(service, roles)
    expect((await auth.verify(token)).claims.aud).toBe(roles.code)
    expect(await auth.check()).toMatchObject({ ok: true, faults: [], app: { id: roles.id, permission_scope: 'roles' } })
    expect(lines).toEqual([])
  })
})
