import { request as sendRequest } from 'node:http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type AuthError, type AuthErrorCode, assertFreshProof, createAuth, type Principal, refusal } from './index.ts'
import type { Requirements } from './koa.ts'
import { type Route, stands } from './test-servers.ts'
import { CLAIMS, NOW, PREVIOUS_SECRET, SECRET, signToken } from './test-tokens.ts'

// What every guard guarantees, tested with each framework over a socket.

const auth = createAuth({
  appCode: 'billing',
  secret: SECRET,
  issuer: 'gatehouse',
  now: () => NOW * 1000,
  logger: false,
  revocation: {
    mode: 'custom',
    isCurrent: ({ tv, uid }) => {
      if (uid === 'unknown') throw new Error('no database')
      return tv >= 3
    },
  },
})

let reached: string[] = []
let told: [AuthError, { headers: object }][] = []
const show = (principal: Principal | undefined) => {
  reached.push(principal?.userId ?? 'nobody')
  return { user: principal?.userId ?? null }
}
const requirements: [Requirements, 200 | 403][] = [
  [{ permissions: ['invoices:read'] }, 200],
  [{ permissions: ['invoices:read', 'invoices:void'] }, 403],
  [{ permissions: [] }, 200],
  [{ anyOf: ['invoices:read', 'invoices:void'] }, 200],
  [{ anyOf: ['invoices:void'] }, 403],
  [{ anyOf: [] }, 403],
  [{ role: 'base_user' }, 200],
  [{ role: 'base' }, 403],
  [{ org: 'required' }, 403],
  [{ permissions: ['invoices:read'], role: 'clerk' }, 403],
]
const proofs: Record<string, Requirements> = {
  '/fresh': { maxAgeSec: 300 },
  '/strong': { amr: 'mfa' },
  '/both': { maxAgeSec: 300, amr: 'mfa' },
  '/both-for-any': { kind: 'any', maxAgeSec: 300, amr: 'mfa' },
  '/both-and-a-right': { permissions: ['invoices:void'], maxAgeSec: 300, amr: 'mfa' },
}
const broken = new Error('the handler broke')
const routes: Route[] = [
  { path: '/required', guard: 'required', handle: show },
  { path: '/optional', guard: 'optional', handle: show },
  { path: '/forgotten', handle: (principal) => show({ ...principal, userId: principal.userId }) },
  { path: '/org', guard: 'required', requirements: { org: 'required' }, handle: show },
  { path: '/answers-with-id', guard: 'required', requestId: 'ours', handle: show },
  { path: '/asserts', guard: 'required', handle: (principal) => principal.assert('invoices:void') },
  {
    path: '/breaks',
    guard: 'required',
    handle: () => {
      throw broken
    },
  },
  {
    path: '/told',
    guard: 'required',
    requirements: { permissions: ['invoices:void'] },
    onRefused: (...said) => void told.push(said),
    handle: show,
  },
  { path: '/told-if-bad', guard: 'optional', onRefused: (...said) => void told.push(said), handle: show },
  {
    path: '/told-in-vain',
    guard: 'required',
    onRefused: async () => {
      throw new Error('no log')
    },
    handle: show,
  },
  { path: '/other-token', guard: 'required', handle: () => auth.verify(signToken({ exp: 1 })) },
  { path: '/service', guard: 'required', requirements: { kind: 'service' }, handle: show },
  { path: '/any', guard: 'required', requirements: { kind: 'any', permissions: ['invoices:read'] }, handle: show },
  ...Object.entries(proofs).map(([path, asked]): Route => ({ path, guard: 'required', requirements: asked, handle: show })),
  {
    path: '/asserts-proof',
    guard: 'required',
    handle: (principal) => assertFreshProof(auth, principal, { maxAgeSec: 300, amr: 'mfa' }) ?? show(principal),
  },
  ...requirements.map(([asked], index): Route => ({ path: `/r${index}`, guard: 'required', requirements: asked, handle: show })),
]

const good = signToken()
const machine = signToken({ kind: 'service', sid: undefined, email: undefined, roles: ['service'] })
const forbidden = {
  status: 403,
  code: 'permission_denied',
  title: 'The token does not allow this',
  detail: 'The token does not allow this.',
}

describe.each(Object.entries(stands))('%s', (_, { serve, knowsNoAnswer }) => {
  let port: number
  let failures: unknown[]
  beforeAll(async () => {
    failures = []
    const server = await serve(auth, routes, failures)
    port = server.port
    return server.close
  })

  async function ask(path: string, token?: string, headers: Record<string, string> = {}, method = 'GET') {
    reached = []
    told = []
    failures.length = 0
    const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { ...authorization, ...headers } })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, body: text.startsWith('{') ? JSON.parse(text) : text }
  }

  /** Sends headers that `fetch` would join or refuse. Returns the status. */
  function askWith(path: string, headers: readonly string[]): Promise<number | undefined> {
    reached = []
    return new Promise((resolve, reject) => {
      const sent = sendRequest(
        { port, path, headers: ['Host', 'x', 'Connection', 'close', ...headers], agent: false },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      )
      sent.on('error', reject).end()
    })
  }

  test('a valid token reaches the handler with its principal', async () => {
    expect(await ask('/required', good)).toMatchObject({ status: 200, body: { user: CLAIMS.uid } })
    expect(reached).toEqual([CLAIMS.uid])
  })

  test('a machine token passes only where the guard allows it', async () => {
    const statuses = async (token: string) =>
      Promise.all(['/required', '/optional', '/service', '/any'].map(async (path) => (await ask(path, token)).status))
    expect(await statuses(good)).toEqual([200, 200, 403, 200])
    expect(await statuses(machine)).toEqual([403, 403, 200, 200])
  })

  test('the scheme may be written in any case', async () => {
    for (const scheme of ['bearer', 'BEARER', 'Bearer  '])
      expect((await ask('/required', undefined, { authorization: `${scheme} ${good}` })).status).toBe(200)
  })

  test('a request without a token is answered 401 token_missing, with a challenge that names no error', async () => {
    const answer = await ask('/required', undefined, { 'x-request-id': 'r-1' })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse"')
    expect(answer.body).toEqual({
      status: 401,
      code: 'token_missing',
      title: 'A bearer token is required',
      detail: 'Send it as "Authorization: Bearer <token>".',
      request_id: 'r-1',
    })
    expect([reached, failures]).toEqual([[], []])
  })

  test.each([
    ['another scheme', 'Basic YTpi'],
    ['a token without a scheme', good],
    ['a scheme without a token', 'Bearer'],
  ])('a request with %s counts as one without a token', async (_, authorization) => {
    expect(await ask('/required', undefined, { authorization })).toMatchObject({ status: 401, body: { code: 'token_missing' } })
    expect(await ask('/optional', undefined, { authorization })).toMatchObject({ status: 200, body: { user: null } })
  })

  // covers auth-app-binding error-other-app auth-version
  test.each([
    ['an expired token', signToken({ exp: NOW - 5 }), 'token_expired'],
    ['a revoked token', signToken({ tv: 2 }), 'token_revoked'],
    ['a forged token', signToken({}, {}, PREVIOUS_SECRET), 'token_invalid'],
    ['the token of another app', signToken({ aud: 'shop', app_code: 'shop' }), 'token_invalid'],
    ['an unreadable token', 'x', 'token_invalid'],
    ['a token that is too long', 'x'.repeat(8193), 'token_invalid'],
    ['two tokens', `${good}, Bearer ${good}`, 'token_invalid'],
  ])('%s is answered 401 even where a token is optional, and the answer shows no settings', async (_, token, code) => {
    for (const path of ['/required', '/optional']) {
      const answer = await ask(path, token)
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual({ status: 401, code, title: expect.any(String), detail: expect.any(String) })
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="invalid_token"')
      expect(answer.text).not.toMatch(/JWT_|SERVICE_APP|billing|hint/)
      expect([reached, failures]).toEqual([[], []])
    }
  })

  test.each([
    ['a good token first', ['Authorization', `Bearer ${good}`, 'Authorization', `Bearer ${signToken({ uid: 'other' })}`]],
    ['a good token last', ['Authorization', 'Basic YTpi', 'authorization', `Bearer ${good}`]],
    ['one token twice', ['Authorization', `Bearer ${good}`, 'AUTHORIZATION', `Bearer ${good}`]],
  ])('two Authorization headers are refused: %s', async (_, headers) => {
    expect(await askWith('/required', headers)).toBe(401)
    expect(reached).toEqual([])
  })

  test.each(requirements.map(([asked, status], index) => ({ asked, status, path: `/r${index}` })))(
    'a guard with the requirements $asked answers $status',
    async ({ status, path }) => {
      const answer = await ask(path, good)
      expect(answer.status).toBe(status)
      if (status === 200) return
      expect(answer.body).toEqual(forbidden)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="insufficient_scope"')
      expect([reached, failures]).toEqual([[], []])
    },
  )

  const max_age = ', max_age="300"'
  const acr_values = ', acr_values="mfa"'
  test.each([
    // The tolerance for clocks is 5 s.
    ['/fresh', { auth_time: NOW - 305 }, undefined],
    ['/fresh', { auth_time: NOW - 306, amr: ['pwd', 'otp', 'mfa'] }, max_age],
    ['/fresh', {}, max_age],
    ['/fresh', { auth_time: `${NOW}` }, max_age],
    ['/strong', { auth_time: NOW - 9_000, amr: ['pwd', 'otp', 'mfa'] }, undefined],
    ['/strong', { auth_time: NOW, amr: ['pwd'] }, acr_values],
    ['/strong', { auth_time: NOW, amr: 'mfa' }, acr_values],
    ['/strong', {}, acr_values],
    ['/both', { auth_time: NOW, amr: ['swk', 'mfa'] }, undefined],
    ['/both', { auth_time: NOW, amr: ['pwd'] }, max_age + acr_values],
    ['/both', { auth_time: NOW - 306, amr: ['swk', 'mfa'] }, max_age + acr_values],
    ['/both-for-any', { auth_time: NOW, amr: ['swk', 'mfa'] }, undefined],
    ['/both-for-any', { kind: 'service', sid: undefined, email: undefined }, max_age + acr_values],
    ['/asserts-proof', { auth_time: NOW, amr: ['swk', 'mfa'] }, undefined],
    ['/asserts-proof', { auth_time: NOW, amr: ['pwd'] }, max_age + acr_values],
  ])('%s with %j is answered 200, or 401 with the proof that is needed', async (path, claims, needed) => {
    const answer = await ask(path, signToken(claims))
    if (needed === undefined) return expect(answer.status).toBe(200)
    expect(answer).toMatchObject({
      status: 401,
      body: {
        status: 401,
        code: 'insufficient_user_authentication',
        title: 'A fresh proof of who you are is required',
        detail: 'A fresh proof of who you are is required.',
      },
    })
    const challenge = 'Bearer realm="gatehouse", error="insufficient_user_authentication"'
    expect(answer.headers.get('www-authenticate')).toBe(challenge + needed)
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(answer.text).not.toContain('auth_time')
    expect(reached).toEqual([])
    if (path !== '/asserts-proof') expect(failures).toEqual([])
  })

  test('a user who lacks a permission gets 403 and is not asked for a proof', async () => {
    expect(await ask('/both-and-a-right', signToken({ auth_time: 1 }))).toMatchObject({ status: 403, body: forbidden })
  })

  test('a token for an organization passes where one is required', async () => {
    expect((await ask('/org', signToken({ org_id: 'o-1', org_slug: 'acme' }))).status).toBe(200)
  })

  test('an optional guard gives the principal if there is a token', async () => {
    expect((await ask('/optional', good)).body).toEqual({ user: CLAIMS.uid })
    expect((await ask('/optional')).body).toEqual({ user: null })
  })

  test('a request is answered 503 with Retry-After while the app cannot tell what was revoked', async () => {
    const answer = await ask('/required', signToken({ uid: 'unknown' }))
    expect(answer).toMatchObject({ status: 503, body: { status: 503, code: 'unavailable' } })
    expect(answer.headers.get('retry-after')).toBe('1')
  })

  test('a handler that no guard precedes fails with 500', async () => {
    const answer = await ask('/forgotten', good)
    expect(answer.status).toBe(500)
    expect(reached).toEqual([])
    expect(failures).toHaveLength(1)
  })

  test('an assertion that fails in the handler is answered 403 in the same shape', async () => {
    const answer = await ask('/asserts', good)
    expect(answer).toMatchObject({ status: 403, body: forbidden })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="insufficient_scope"')
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  })

  test('an error of the handler reaches the app unchanged', async () => {
    expect((await ask('/breaks', good)).status).toBe(500)
    expect(failures).toEqual([broken])
  })

  test('an error about another token is left to the app', async () => {
    const answer = await ask('/other-token', good)
    expect(answer.text).not.toContain('token_expired')
    expect(failures).toEqual([expect.objectContaining({ code: 'TOKEN_EXPIRED' satisfies AuthErrorCode })])
  })

  test('HEAD is guarded like GET and answered without a body', async () => {
    expect(await ask('/required', undefined, {}, 'HEAD')).toMatchObject({ status: 401, text: '' })
    expect(reached).toEqual([])
    expect(await ask('/required', good, {}, 'HEAD')).toMatchObject({ status: 200, text: '' })
  })

  test.skipIf(knowsNoAnswer)('the request id of the answer wins over the one that was sent', async () => {
    const answer = await ask('/answers-with-id', undefined, { 'x-request-id': 'theirs' })
    expect(answer.body).toMatchObject({ request_id: 'ours' })
    expect(answer.headers.get('x-request-id')).toBe('ours')
  })

  test('onRefused gets every request that the guard refuses, with the reason and the request of the framework', async () => {
    const unhandled = vi.fn()
    process.on('unhandledRejection', unhandled)
    const seen: unknown[] = []
    const asks: [path: string, token?: string][] = [
      ['/told', signToken({ exp: 1 })],
      ['/told'],
      ['/told', good],
      ['/told-if-bad', signToken({ aud: 'shop' })],
      ['/told-if-bad'],
      ['/told-if-bad', good],
      ['/told-in-vain', signToken({ exp: 1 })],
    ]
    const answers: number[] = []
    for (const [path, token] of asks) {
      answers.push((await ask(path, token, { 'x-probe': 'yes' })).status)
      seen.push(
        told.map(([{ code, hint }, { headers }]) => [
          code,
          typeof hint,
          new Headers(headers as Record<string, string>).get('x-probe'),
        ]),
      )
    }
    expect(answers).toEqual([401, 401, 403, 401, 200, 200, 401])
    const refused = (code: AuthErrorCode) => [[code, 'string', 'yes']]
    expect(seen).toEqual([
      refused('TOKEN_EXPIRED'),
      refused('TOKEN_MISSING'),
      refused('PERMISSION_DENIED'),
      refused('TOKEN_AUDIENCE'),
      [],
      [],
      [],
    ])
    await new Promise((resolve) => setImmediate(resolve))
    expect(unhandled).not.toHaveBeenCalled()
    process.off('unhandledRejection', unhandled)
  })

  test('an invalid request id is not sent back', async () => {
    expect((await ask('/required', undefined, { 'x-request-id': '<script>' })).body).not.toHaveProperty('request_id')
  })
})

test('refusal builds the answer for a guard of your own', async () => {
  const { error } = await auth.safeVerify(signToken({ exp: 1 }))
  expect(refusal(error, 'r-1')).toEqual({
    status: 401,
    headers: { 'WWW-Authenticate': 'Bearer realm="gatehouse", error="invalid_token"' },
    body: {
      status: 401,
      code: 'token_expired',
      title: 'The token has expired',
      detail: 'The token has expired.',
      request_id: 'r-1',
    },
  })
  expect(refusal(error, '<script>')!.body).not.toHaveProperty('request_id')
  expect([refusal(broken), refusal(undefined)]).toEqual([undefined, undefined])
})

afterAll(() => auth.close())
