import { createHash } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createBrowserAuth } from '../browser/index.ts'
import { type Auth, createAuth, definePermissions } from '../index.ts'
import { requireAuth } from '../koa.ts'
import { createTestAuth, type TestAuth, type TestAuthOptions, type TestUser } from './index.ts'

const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })

function buildTestAuth<Name extends string>(options: TestAuthOptions<Name> = {}): TestAuth<Name> {
  const testAuth = createTestAuth(options)
  onTestFinished(() => testAuth.close())
  return testAuth
}

/** What an app under test creates in another process: configured by the environment, with the clock of the machine. */
function buildFromEnvironment(env: object): Auth {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
  const auth = createAuth()
  onTestFinished(() => auth.close())
  return auth
}

async function codeOf(auth: Auth, token: string): Promise<string> {
  const result = await auth.safeVerify(token)
  return result.ok ? 'ok' : result.error.code
}

async function until(holds: () => unknown): Promise<void> {
  for (const end = performance.now() + 10_000; !(await holds()); await new Promise((resolve) => setTimeout(resolve, 2))) {
    if (performance.now() > end) throw new Error(`never: ${holds}`)
  }
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe('tokens of createTestAuth', () => {
  test('token gives a valid token for the app with the claims that the test passes', async () => {
    const { auth, token, userId, env } = buildTestAuth({ appCode: 'billing', permissions })
    const principal = await auth.verify(token())
    expect(principal.claims).toMatchObject({
      uid: userId,
      app_code: 'billing',
      aud: 'billing',
      roles: ['base_user'],
      permissions: [],
    })
    expect(principal.claims.app_id).toBe(env.SERVICE_APP_ID)
    const other = await auth.verify(
      token({
        uid: 'u-2',
        roles: ['clerk'],
        org_id: 'o-1',
        org_slug: 'acme',
        namespace: 'staff',
        permissions: ['invoices:read'],
      }),
    )
    expect([other.userId, other.pool, other.org, other.hasRole('clerk')]).toEqual([
      'u-2',
      'staff',
      { id: 'o-1', slug: 'acme' },
      true,
    ])
    expect([other.has('invoices:read'), other.has('invoices:void')]).toEqual([true, false])
  })

  test('a claim can be left out, and a misspelt permission does not compile', async () => {
    const { auth, token, bearer } = buildTestAuth({ permissions })
    expect(await codeOf(auth, token({ exp: undefined }))).toBe('TOKEN_CLAIMS')
    // @ts-expect-error misspelt permission
    bearer('invoices:raed')
    // @ts-expect-error misspelt permission
    token({ permissions: ['invoices:raed'] })
    // @ts-expect-error misspelt claim
    token({ user: 'u-2' })
  })

  test('bearer gives the header of a user with these permissions and no others', async () => {
    const { auth, bearer } = buildTestAuth({ permissions })
    const principal = await auth.authenticate(bearer('invoices:read'))
    expect([principal.has('invoices:read'), principal.has('invoices:void')]).toEqual([true, false])
    expect((await auth.authenticate(bearer())).claims.permissions).toEqual([])
  })

  test('one createTestAuth refuses the tokens of another', async () => {
    const [one, other] = [buildTestAuth(), buildTestAuth()]
    expect(await codeOf(one.auth, other.token())).toBe('TOKEN_SIGNATURE')
  })

  test('time stands still except for advance, and a token ends after 900 seconds and the tolerance', async () => {
    const { auth, token, advance, now } = buildTestAuth()
    const issued = token()
    const start = now()
    advance(904)
    expect(now() - start).toBe(904_000)
    expect(await codeOf(auth, issued)).toBe('ok')
    advance(1)
    expect(await codeOf(auth, issued)).toBe('TOKEN_EXPIRED')
    expect(await codeOf(auth, token())).toBe('ok')
  })

  test('each bad token is refused with its code at any time, also by an app that reads env', async () => {
    const { auth, env, badTokens, advance } = buildTestAuth({ appCode: 'billing' })
    const tokens = badTokens()
    const app = buildFromEnvironment(env)
    expect(tokens.length).toBeGreaterThanOrEqual(12)
    expect(new Set(tokens.map(({ name }) => name)).size).toBe(tokens.length)
    for (const { name, token, code } of tokens)
      expect([name, await codeOf(auth, token), await codeOf(app, token)]).toEqual([name, code, code])
    advance(100 * 86_400)
    for (const { name, token, code } of tokens) expect([name, await codeOf(auth, token)]).toEqual([name, code])
    const codes = new Set(tokens.map(({ code }) => code))
    for (const code of ['MALFORMED', 'ALG', 'SIGNATURE', 'EXPIRED', 'NOT_YET_VALID', 'ISSUER', 'AUDIENCE', 'CLAIMS'])
      expect(codes).toContain(`TOKEN_${code}`)
    expect(codes).toContain('APP_MISMATCH')
  })
})

describe('revoke', () => {
  test('revoke ends the tokens that the user has, and not later ones or those of other users', async () => {
    const { auth, token, revoke, userId } = buildTestAuth()
    const [mine, another] = [token(), token({ uid: 'u-2' })]
    await revoke(userId)
    expect(await codeOf(auth, mine)).toBe('TOKEN_REVOKED')
    expect(await codeOf(auth, another)).toBe('ok')
    expect(await codeOf(auth, token())).toBe('ok')
    await revoke('u-2')
    await revoke('u-2')
    expect(await codeOf(auth, another)).toBe('TOKEN_REVOKED')
    expect(await codeOf(auth, token({ uid: 'u-2' }))).toBe('ok')
  })

  test('revoke for one app ends the tokens of that app alone', async () => {
    const { auth, token, revoke, userId, env } = buildTestAuth()
    const issued = token()
    await revoke(userId, 'another-app-id')
    expect(await codeOf(auth, issued)).toBe('ok')
    await revoke(userId, env.SERVICE_APP_ID)
    expect(await codeOf(auth, issued)).toBe('TOKEN_REVOKED')
  })

  test('revoke reaches an app that reads env, over the network', async () => {
    const { env, token, revoke, userId } = buildTestAuth()
    const app = buildFromEnvironment(env)
    const issued = token()
    expect(await codeOf(app, issued)).toBe('ok')
    await until(() => app.health().revocation.connected)
    await revoke(userId)
    await until(async () => (await codeOf(app, issued)) === 'TOKEN_REVOKED')
  })

  test('revoke works while a test has replaced the timers', async () => {
    const { auth, token, revoke, userId } = buildTestAuth()
    await revoke('u-2')
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const issued = token()
    await revoke(userId)
    expect(await codeOf(auth, issued)).toBe('TOKEN_REVOKED')
  })

  test('revoke throws if auth is closed and cannot learn of it', async () => {
    const { auth, revoke, userId } = buildTestAuth()
    await auth.close()
    await expect(revoke(userId)).rejects.toThrow(/closed/)
  })
})

describe('the test service', () => {
  test('a test service that is down leaves known revocations in force, and new ones arrive when it is up', async () => {
    const { auth, token, revoke, userId, advance, service } = buildTestAuth()
    const early = token({ uid: 'u-2' })
    await revoke('u-2')
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: true, ageSec: 0 })
    const issued = token()
    await service.down()
    advance(60)
    expect(auth.health().revocation).toEqual({ mode: 'feed', connected: false, ageSec: 60 })
    await revoke(userId)
    expect(await codeOf(auth, issued)).toBe('ok')
    expect(await codeOf(auth, early)).toBe('TOKEN_REVOKED')
    await service.up()
    expect(auth.health().revocation.connected).toBe(true)
    expect(await codeOf(auth, issued)).toBe('TOKEN_REVOKED')
  })

  test('the test service can be down from the first moment, and go up and down again', async () => {
    const { auth, service } = buildTestAuth()
    for (let round = 0; round < 3; round += 1) {
      await service.down()
      expect(auth.health().revocation.connected).toBe(false)
      await service.up()
      expect(auth.health().revocation.connected).toBe(true)
    }
  })

  const call = (env: TestAuth['env'], path: string, body?: object, bearer = env.SERVICE_ACCOUNT_TOKEN) =>
    fetch(`${env.SERVICE_AUTH_URL}/api/v1${path}`, {
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })

  test('the test service counts registered permissions like the real one', async () => {
    const { env } = buildTestAuth()
    const declare = async (names: Record<string, string>) => {
      const list = Object.entries(names).map(([code, name]) => ({
        code,
        name,
        resource: code.split(':')[0],
        action: code.split(':')[1],
      }))
      return (await call(env, '/admin/permissions/register', { service: 'billing', permissions: list })).json()
    }
    expect(await declare({ 'a:read': 'A', 'b:read': 'B' })).toMatchObject({
      service: 'billing',
      created: 2,
      updated: 0,
      pruned: 0,
      unchanged: 0,
    })
    expect(await declare({ 'a:read': 'A', 'b:read': 'other', 'c:read': 'C' })).toMatchObject({
      created: 1,
      updated: 1,
      pruned: 0,
      unchanged: 1,
    })
    expect(await declare({ 'c:read': 'C' })).toMatchObject({ created: 0, updated: 0, pruned: 2, unchanged: 1 })
  })

  test('the test service accepts the registration of auth and of an app that reads env', async () => {
    const { auth, env } = buildTestAuth({ appCode: 'billing', permissions })
    expect(await auth.registerPermissions().ready).toMatchObject({ created: 2, pruned: 0 })
    for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value)
    const app = createAuth({ permissions })
    onTestFinished(() => app.close())
    expect(await app.registerPermissions({ mode: 'require' }).ready).toMatchObject({ created: 0, unchanged: 2 })
  })

  test('the test service shows the time of the machine to an app that reads env, plus what the test advanced', async () => {
    const { env, advance } = buildTestAuth()
    vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const auth = buildFromEnvironment(env)
    expect((await auth.check()).faults).toEqual([])
    advance(300)
    expect((await auth.check()).faults).toMatchObject([{ code: 'clock' }])
  })

  test('the test service reports whether a token is active', async () => {
    const { auth, env, token, userId, revoke } = buildTestAuth()
    const issued = token()
    const introspect = async () => (await call(env, '/auth/introspect', { token: issued })).json()
    expect(await introspect()).toMatchObject({ active: true, uid: userId })
    expect(await auth.api.introspect(issued)).toMatchObject({ active: true })
    await revoke(userId)
    expect(await introspect()).toEqual({ active: false })
  })

  test('the test service refuses a caller without assertion or service account, and has no other route', async () => {
    const { env, token } = buildTestAuth()
    for (const path of ['/revocations', '/revocations/stream'])
      expect((await call(env, path, undefined, token())).status).toBe(401)
    expect((await call(env, '/admin/users')).status).toBe(404)
    expect((await call(env, '/health', undefined, 'x')).status).toBe(200)
    expect((await call(env, '/admin/permissions/register')).status).toBe(404)
  })

  test('a test service that is down does not answer', async () => {
    const { env, service } = buildTestAuth()
    await service.down()
    await expect(call(env, '/health')).rejects.toThrow()
  })

  test('the test service is out of reach of other machines', async () => {
    const { env } = buildTestAuth()
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((address) => address?.family === 'IPv4' && !address.internal)
    if (outside === undefined) return
    const { port } = new URL(env.SERVICE_AUTH_URL)
    await expect(fetch(`http://${outside.address}:${port}/api/v1/health`)).rejects.toThrow()
  })
})

test('createTestAuth refuses production with the reason', () => {
  vi.stubEnv('NODE_ENV', 'production')
  expect(() => createTestAuth()).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining('NODE_ENV=production') }),
  )
})

test('a guard made with createTestAuth protects a handler', async () => {
  const { auth, bearer } = buildTestAuth({ permissions })
  const guard = requireAuth(auth, { permissions: ['invoices:void'] })
  const statusFor = async (headers: Record<string, string>) => {
    const context = { headers, response: { get: () => '' }, state: {} as never, status: 200, body: '' as unknown, set() {} }
    await guard(context, async () => {})
    return context.status
  }
  expect([await statusFor(bearer('invoices:void')), await statusFor(bearer('invoices:read')), await statusFor({})]).toEqual([
    200, 403, 401,
  ])
})

describe('sign-in with createTestAuth', () => {
  const post = async ({ env }: TestAuth, path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(env.SERVICE_AUTH_URL + path, { method: 'POST', headers, body: JSON.stringify(body) })
    // biome-ignore lint/suspicious/noExplicitAny: whatever the service says.
    return { status: answer.status, body: (await answer.json().catch(() => ({}))) as any }
  }

  test('a user signs in with a password, and a code if they have one, and auth accepts the tokens', async () => {
    const gate = buildTestAuth({ permissions })
    const { auth, user, addUser } = gate
    const login = ({ email, password }: TestUser, more: object = {}) =>
      post(gate, '/api/v1/auth/login', { email, password, ...more })
    expect((await login(user, { password: 'wrong' })).body).toMatchObject({ status: 401, code: 'invalid_credentials' })
    const { access_token, refresh_token } = (await login(user)).body
    expect((await auth.verify(access_token)).userId).toBe(user.id)
    const ada = addUser({ email: 'ada@example.com', permissions: ['invoices:read'], two_factor_code: '123456' })
    expect((await login(ada)).body).toMatchObject({ requires_2fa: true })
    expect((await login(ada, { two_factor_code: '000000' })).body.code).toBe('invalid_two_factor_code')
    const principal = await auth.verify((await login(ada, { two_factor_code: '123456' })).body.access_token)
    expect([principal.claims.email, principal.has('invoices:read')]).toEqual(['ada@example.com', true])
    const renewed = await post(gate, '/api/v1/auth/refresh', { refresh_token })
    expect(renewed.body.user).toMatchObject({ id: user.id, email: user.email })
    const me = await fetch(`${gate.env.SERVICE_AUTH_URL}/api/v1/auth/me`, {
      headers: { authorization: `Bearer ${renewed.body.access_token}` },
    })
    expect(await me.json()).toMatchObject({ user: { id: user.id } })
  })

  test('a refresh token is valid once, within the leeway twice, and not for a revoked user', async () => {
    const gate = buildTestAuth()
    const refresh = (refresh_token: string) => post(gate, '/api/v1/auth/refresh', { refresh_token })
    const { refresh_token } = (await post(gate, '/api/v1/auth/login', gate.user)).body
    const [first, second] = [await refresh(refresh_token), await refresh(refresh_token)]
    expect(first.body.refresh_token).toBe(second.body.refresh_token)
    gate.advance(11)
    expect((await refresh(refresh_token)).body.code).toBe('refresh_token_reused')
    expect((await refresh(first.body.refresh_token)).status).toBe(401)
    const other = (await post(gate, '/api/v1/auth/login', gate.user)).body
    await gate.revoke(gate.userId)
    expect((await refresh(other.refresh_token)).body.code).toBe('invalid_refresh_token')
  })

  test('tokens hold how and when the user signed in, and a refresh and the sign-in page keep to that', async () => {
    const gate = buildTestAuth({ appCode: 'notes' })
    const proofOf = async (access: string) => {
      const { auth_time, amr } = (await gate.auth.verify(access)).claims
      return { auth_time, amr }
    }
    const began = Math.floor(gate.now() / 1000)
    const given = { auth_time: began - 60, amr: ['swk', 'mfa'] }
    expect(await proofOf(gate.token())).toEqual({ auth_time: began, amr: ['pwd'] })
    expect(await proofOf(gate.token(given))).toEqual(given)
    expect(await proofOf(gate.token({ kind: 'service' }))).toEqual({})
    const owner = gate.addUser({ two_factor_code: '123456' })
    const { body } = await post(gate, '/api/v1/auth/login', owner)
    const strong = { auth_time: began, amr: ['pwd', 'otp', 'mfa'] }
    expect(await proofOf(body.access_token)).toEqual(strong)
    gate.advance(100)
    const renewed = await post(gate, '/api/v1/auth/refresh', { refresh_token: body.refresh_token })
    expect(await proofOf(renewed.body.access_token)).toEqual(strong)

    const verifier = 'a verifier of forty-three characters or more'
    const code_challenge = createHash('sha256').update(verifier).digest('base64url')
    const redirect_uri = 'https://notes.example/callback'
    const answerTo = async (asked: Record<string, string>) => {
      const query = new URLSearchParams({ client_id: 'notes', redirect_uri, code_challenge, state: 's', ...asked })
      const answer = await fetch(`${gate.env.SERVICE_AUTH_URL}/oauth/authorize?${query}`, { redirect: 'manual' })
      return Object.fromEntries(new URL(answer.headers.get('location')!).searchParams)
    }
    const atPage = async (asked: Record<string, string>) => {
      const { code = '' } = await answerTo(asked)
      const grant = { grant_type: 'authorization_code', client_id: 'notes', redirect_uri, code, code_verifier: verifier }
      return proofOf((await post(gate, '/oauth/token', grant)).body.access_token)
    }
    expect(await atPage({})).toEqual({ auth_time: began + 100, amr: ['pwd'] })
    expect(await atPage({ max_age: '60', acr_values: 'mfa' })).toEqual({ ...strong, auth_time: began + 100 })
    gate.service.signInAs(owner)
    expect(await atPage({})).toEqual({ ...strong, auth_time: began + 100 })
    expect(await answerTo({ acr_values: 'phr' })).toMatchObject({ error: 'unmet_authentication_requirements' })
  })

  test('a page signs in and out with createBrowserAuth against the test service', async () => {
    const gate = buildTestAuth({ appCode: 'notes' })
    const page = createBrowserAuth({ authUrl: gate.env.SERVICE_AUTH_URL, appCode: 'notes', storage: 'memory' })
    expect(await page.login(gate.user)).toMatchObject({ status: 'signed_in', user: { id: gate.userId } })
    await page.logout()
    expect(page.state.status).toBe('signed_out')
    page.dispose()
  })

  test('a code is valid once, for one app, one redirect URL and one verifier', async () => {
    const gate = buildTestAuth({ appCode: 'notes' })
    const verifier = 'a verifier of forty-three characters or more'
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    const redirect_uri = 'https://notes.example/callback'
    const ask = async () => {
      const query = new URLSearchParams({ client_id: 'notes', redirect_uri, code_challenge: challenge, state: 's' })
      const answer = await fetch(`${gate.env.SERVICE_AUTH_URL}/oauth/authorize?${query}`, { redirect: 'manual' })
      return new URL(answer.headers.get('location')!).searchParams.get('code')!
    }
    const exchange = async (code: string, changes: object = {}) => {
      const given = {
        grant_type: 'authorization_code',
        client_id: 'notes',
        redirect_uri,
        code_verifier: verifier,
        code,
        ...changes,
      }
      return (await fetch(`${gate.env.SERVICE_AUTH_URL}/oauth/token`, { method: 'POST', body: new URLSearchParams(given) }))
        .status
    }
    for (const changes of [{ client_id: 'shop' }, { redirect_uri: 'https://evil.example/' }, { code_verifier: 'another' }])
      expect(await exchange(await ask(), changes)).toBe(400)
    const code = await ask()
    expect([await exchange(code), await exchange(code)]).toEqual([200, 400])
  })
})

test('onUserChange gets the changes that a test makes', async () => {
  const { auth, service, userId } = buildTestAuth()
  service.changeUser({ type: 'names_changed', user_id: userId, email: 'ada@example.com', first_name: 'Ada' })
  service.changeUser({ type: 'user_deleted' })
  const seen: unknown[] = []
  const cursors: number[] = []
  auth.onUserChange((change) => void seen.push(change), { onCursor: (cursor) => cursors.push(cursor) })
  await until(() => cursors.length === 1)
  expect(seen).toMatchObject([
    { type: 'names_changed', user_id: userId, first_name: 'Ada' },
    { type: 'user_deleted', email: null },
  ])
})
