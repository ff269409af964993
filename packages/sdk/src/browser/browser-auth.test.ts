import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createBrowserAuth } from './browser-auth.ts'
import { BrowserAuthError } from './errors.ts'
import type { BrowserAuthOptions } from './options.ts'
import type { Channel } from './platform.ts'
import type { AuthState } from './results.ts'
import {
  type Answering,
  buildAuth,
  buildPlatform,
  LaggingStorage,
  later,
  type MapStorage,
  type PeerReply,
  refusal,
  startPeer,
  type TestPlatform,
  tokensOf,
  USER,
} from './test-platform.ts'

const credentials = { email: 'ada@example.com', password: 'correct horse' }

/** Answers with numbered tokens. Each refresh token is good once, as at the service, but without a leeway. */
function strictService(): Answering {
  let issued = 0
  return ({ path, body }) => {
    if (path !== '/auth/login' && path !== '/auth/refresh') return { status: 204 }
    if (path === '/auth/refresh' && body.refresh_token !== `refresh-${issued}`) return refusal(401, 'refresh_token_reused')
    issued += 1
    return tokensOf(issued)
  }
}

async function buildTab(answer: Answering = strictService(), options: Partial<BrowserAuthOptions> = {}) {
  const service = await startPeer(answer)
  const platform = buildPlatform()
  const all = { authUrl: service.url, appCode: 'notes', ...options }
  const auth = buildAuth(platform, all)
  const states: AuthState[] = []
  auth.subscribe((state) => void states.push(state))
  const count = (path: string) => service.seen.filter((request) => request.path === path).length
  return { service, platform, auth, states, count, options: all }
}

async function signedInTab(options: Partial<BrowserAuthOptions> = {}) {
  const tab = await buildTab(strictService(), options)
  await tab.auth.login(credentials)
  return tab
}

/** Returns the error that a call ends with. */
async function errorOf(call: Promise<unknown>): Promise<BrowserAuthError> {
  const error = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(BrowserAuthError.is(error)).toBe(true)
  return error as BrowserAuthError
}

describe('options', () => {
  test.each([
    ['authUrl', { authUrl: 'ftp://auth.example', appCode: 'notes' }],
    ['authUrl', { authUrl: '', appCode: 'notes' }],
    ['appCode', { authUrl: 'https://auth.example', appCode: ' ' }],
    ['storage', { authUrl: 'https://auth.example', appCode: 'notes', storage: 'cookie' as never }],
    ['apiOrigins', { authUrl: 'https://auth.example', appCode: 'notes', apiOrigins: ['api.example'] }],
  ])('createBrowserAuth names a wrong %s', (name, options) => {
    expect(() => createBrowserAuth(options)).toThrow(new RegExp(`createBrowserAuth: ${name} `))
  })

  test('createBrowserAuth on a server that renders pages is signed out and does not fail', () => {
    const auth = createBrowserAuth({ authUrl: 'https://auth.example', appCode: 'notes' })
    onTestFinished(() => auth.dispose())
    expect(auth.state).toEqual({ status: 'signed_out', reason: null })
  })

  test('the address of the service may end in /api/v1 or not', async () => {
    const { service, platform, auth } = await buildTab()
    await auth.login(credentials)
    const other = buildAuth(platform, { authUrl: `${service.url}/api/v1/`, appCode: 'notes' })
    expect(other.state.status).toBe('signed_in')
  })
})

describe('login and register', () => {
  test('a login signs in and sends the credentials, app, organization and extra members', async () => {
    const { service, auth, states } = await buildTab()
    const result = await auth.login({ ...credentials, organizationId: 'o-1', extra: { role_code: 'org_member', email: 'x' } })
    expect(result).toEqual({ ok: true, status: 'signed_in', user: USER, organization: null })
    expect(service.seen[0]!.body).toEqual({
      ...credentials,
      app_code: 'notes',
      organization_id: 'o-1',
      role_code: 'org_member',
    })
    expect(states).toMatchObject([
      { status: 'signed_in', user: USER, organization: null, offline: false, roles: [], permissions: [] },
    ])
    expect(auth.state).toBe(states[0])
    expect(await auth.getAccessToken()).toBe('access-1')
  })

  test('a login with a second factor waits for the code, also after a wrong one', async () => {
    const { service, auth } = await buildTab(({ body }) => {
      if (body.two_factor_code === undefined) return { status: 401, body: { requires_2fa: true } }
      return body.two_factor_code === '123456' ? tokensOf(1) : refusal(401, 'invalid_two_factor_code')
    })
    const result = await auth.login(credentials)
    if (!result.ok || result.status !== 'two_factor_required') throw new Error(JSON.stringify(result))
    expect(auth.state.status).toBe('signed_out')
    expect(await result.submitCode('000000')).toMatchObject({ ok: false, error: { code: 'invalid_two_factor_code' } })
    expect(await result.submitCode('123456')).toMatchObject({ ok: true, status: 'signed_in' })
    expect(service.seen.at(-1)!.body).toEqual({ ...credentials, app_code: 'notes', two_factor_code: '123456' })
  })

  test('an error holds what the service says, but not the password', async () => {
    const fields = [{ path: 'password', code: 'too_short', message: 'At least 8 characters' }]
    const { auth } = await buildTab(() => ({
      ...(refusal(400, 'validation_failed', { errors: fields }) as { status: number; body: unknown }),
      headers: { 'retry-after': '7' },
    }))
    const { error } = await auth.register(credentials)
    if (!error) throw new Error('it is not refused')
    expect(error).toMatchObject({ code: 'validation_failed', status: 400, fields, requestId: 'r-1', retryAfterSec: 7 })
    expect(error.retryable).toBe(false)
    expect(JSON.stringify(error) + error.stack).not.toContain(credentials.password)
  })

  test.each([
    ['429', refusal(429, 'rate_limited'), 'rate_limited'],
    ['503', refusal(503, 'unavailable'), 'unavailable'],
    ['a proxy in its place', { status: 403, body: '<h1>Sign in to this network</h1>' }, 'service_unreachable'],
    ['an answer in another shape', { status: 200, body: { hello: 'world' } }, 'service_unreachable'],
    ['no answer', 'cut' as const, 'service_unreachable'],
  ])('the error for this answer is retryable: %s', async (_, reply, code) => {
    const { auth } = await buildTab(() => reply)
    expect(await auth.login(credentials)).toMatchObject({ ok: false, error: { code, retryable: true } })
    expect(auth.state.status).toBe('signed_out')
  })

  test('a redirect does not carry the password along', async () => {
    const elsewhere = await startPeer(() => tokensOf(1))
    const { auth } = await buildTab(() => ({ status: 307, headers: { location: elsewhere.url } }))
    expect(await auth.login(credentials)).toMatchObject({ error: { code: 'service_unreachable' } })
    expect(elsewhere.seen).toEqual([])
  })

  test('the next login sends the device token, no matter which user signed out', async () => {
    let logins = 0
    const { service, auth, platform, options } = await buildTab(({ path }) => {
      if (path === '/auth/logout') return { status: 204 }
      logins += 1
      return tokensOf(logins, { device_token: `device-${logins}`, created: false, access: 'granted' })
    })
    const sent = () => service.seen.filter(({ path }) => path !== '/auth/logout').map(({ body }) => body.device_token)
    await auth.login(credentials)
    await auth.logout()
    await auth.login(credentials)
    await auth.logout()
    await auth.register({ ...credentials, mode: 'register_or_login' })
    await buildAuth(platform, options).login(credentials)
    expect(sent()).toEqual([undefined, 'device-1', 'device-2', 'device-3'])
  })

  test('register returns signed in, access pending, unverified, enrolment required or second factor required', async () => {
    const granted = { created: true, access: 'granted' }
    const { service, auth } = await buildTab(() => ({ ...(tokensOf(1, granted) as object), status: 201 }))
    const input = { ...credentials, firstName: 'Ada', inviteToken: 'i', extra: { campaign: 'spring' } }
    expect(await auth.register(input)).toMatchObject({ status: 'signed_in', created: true, user: USER })
    expect(service.seen[0]!.body).toEqual({
      ...credentials,
      first_name: 'Ada',
      invite_token: 'i',
      campaign: 'spring',
      app_code: 'notes',
    })

    service.answer = () => ({ status: 201, body: { created: true, access: 'pending', user: USER } })
    expect(await auth.register(credentials)).toEqual({ ok: true, status: 'access_pending', user: USER, created: true })

    service.answer = () => ({ status: 201, body: { created: true, access: 'unverified', user: USER } })
    expect(await auth.register(credentials)).toEqual({ ok: true, status: 'email_unverified', user: USER, created: true })

    const enrollment_url = 'https://login.example/account/two-factor?app=notes'
    service.answer = () => ({ status: 201, body: { created: true, access: 'unenrolled', enrollment_url, user: USER } })
    expect(await auth.register(credentials)).toEqual({
      ...{ ok: true, status: 'two_factor_enrollment_required', user: USER, created: true },
      enrollmentUrl: enrollment_url,
    })

    service.answer = ({ body }) =>
      body.two_factor_code ? tokensOf(1, { ...granted, created: false }) : { status: 401, body: { requires_2fa: true } }
    const result = await auth.register({ ...credentials, mode: 'register_or_login' })
    if (!result.ok || result.status !== 'two_factor_required') throw new Error(JSON.stringify(result))
    expect(await result.submitCode('123456')).toMatchObject({ status: 'signed_in', created: false })
  })

  test('login returns the enrolment URL, and sign_in_required for a user whose only second factor is a passkey', async () => {
    const { auth, service } = await buildTab(() => tokensOf(1))
    const enrollment_url = 'https://login.example/account/two-factor?app=notes'
    const code = 'two_factor_enrollment_required'
    service.answer = () => ({ status: 403, body: { code, title: code, enrollment_url } })
    expect(await auth.login(credentials)).toMatchObject({
      ok: false,
      error: { code: 'two_factor_enrollment_required', enrollmentUrl: enrollment_url },
    })
    const detail = 'Only the sign-in page can ask for it'
    service.answer = () => ({ status: 401, body: { code: 'two_factor_required', detail } })
    expect(await auth.login(credentials)).toMatchObject({
      ok: false,
      error: { code: 'sign_in_required', enrollmentUrl: undefined },
    })
  })

  test('another login ends the previous session at the service', async () => {
    const { service, auth } = await signedInTab()
    await auth.login(credentials)
    await expect
      .poll(() => service.seen.at(-1), { interval: 10 })
      .toMatchObject({
        path: '/auth/logout',
        body: { refresh_token: 'refresh-1' },
      })
    expect(await auth.getAccessToken()).toBe('access-2')
  })
})

describe('the own account', () => {
  test('confirming an e-mail address sends the session only if no password is given', async () => {
    const { service, auth } = await buildTab()
    const account = await auth.account()
    await account.verifyEmail({ token: 't' })
    await account.verifyEmail({ token: 't', password: 'p' })
    await auth.login(credentials)
    await account.confirmEmailChange({ token: 'u' })
    await account.confirmEmailChange({ token: 'u', password: 'p' })
    const told = service.seen.map(({ path, body, headers }) => [path, body, headers.authorization])
    expect(told.filter(([path]) => path !== '/auth/login')).toEqual([
      ['/auth/email/verify', { token: 't' }, undefined],
      ['/auth/email/verify', { token: 't', password: 'p' }, undefined],
      ['/auth/email/change/confirm', { token: 'u' }, 'Bearer access-1'],
      ['/auth/email/change/confirm', { token: 'u', password: 'p' }, undefined],
    ])
  })

  test('a verified or changed address shows in every tab, unless it belongs to another user', async () => {
    const { service, platform, auth, options } = await signedInTab()
    const other = buildAuth(platform, options)
    const email = 'new@example.com'
    service.answer = () => ({ status: 200, body: { user: { ...USER, email_verified: true } } })
    await (await auth.account()).verifyEmail({ token: 't' })
    expect(auth.state).toMatchObject({ user: { ...USER, email_verified: true } })
    await vi.waitFor(() => expect(other.state).toMatchObject({ user: { email_verified: true } }))
    service.answer = () => ({ status: 200, body: { user: { ...USER, email, email_verified: true } } })
    await (await other.account()).confirmEmailChange({ token: 'u', password: 'p' })
    await vi.waitFor(() => expect(auth.state).toMatchObject({ user: { email } }))
    service.answer = () => ({ status: 200, body: { user: { ...USER, id: 'u-2', email: 'bob@example.com' } } })
    await (await auth.account()).verifyEmail({ token: 'v', password: 'p' })
    expect(auth.state).toMatchObject({ user: { id: USER.id, email } })
    expect(await auth.getAccessToken()).toBe('access-1')
  })

  test('changeEmail sends its proof, and only once if it is refused', async () => {
    const { service, auth } = await signedInTab()
    service.answer = () => refusal(401, 'invalid_credentials')
    const change = { email: 'new@example.com', password: 'p', twoFactorCode: '123456' }
    expect(await (await auth.account()).changeEmail(change)).toMatchObject({ ok: false, error: { code: 'invalid_credentials' } })
    expect(service.seen.slice(1)).toMatchObject([
      {
        ...{ method: 'POST', path: '/auth/email/change', headers: { authorization: 'Bearer access-1' } },
        body: { email: 'new@example.com', password: 'p', two_factor_code: '123456' },
      },
    ])
    expect(auth.state.status).toBe('signed_in')
  })

  test('delete signs out once the account is deleted, not when it is refused or a link is mailed', async () => {
    const { service, auth } = await signedInTab()
    const account = await auth.account()
    service.answer = () => refusal(403, 'fresh_login_required')
    expect(await account.delete()).toMatchObject({ ok: false, error: { code: 'fresh_login_required' } })
    expect(auth.state.status).toBe('signed_in')
    // The account has no password: a link is mailed, and nobody is signed out.
    service.answer = () => ({ status: 202, body: {} })
    expect(await account.delete()).toEqual({ ok: true, mailed: true })
    expect(auth.state.status).toBe('signed_in')
    service.answer = () => ({ status: 204 })
    expect(await account.delete({ password: 'p' })).toEqual({ ok: true, mailed: false })
    expect(service.seen.at(-1)).toMatchObject({ method: 'DELETE', path: '/auth/me', body: { password: 'p' } })
    expect(auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
    expect(await account.delete()).toMatchObject({ ok: false, error: { code: 'signed_out' } })
  })

  test('a password change is sent once if the password is wrong, and again if the token had to be renewed', async () => {
    const { service, auth, count } = await signedInTab()
    const change = () => auth.fetch(`${service.url}/api/v1/auth/password/change`, { method: 'POST', body: '{}' })
    service.answer = () => refusal(401, 'invalid_credentials')
    expect((await change()).status).toBe(401)
    expect(count('/auth/password/change')).toBe(1)
    service.answer = ({ path, headers }) =>
      path === '/auth/refresh'
        ? tokensOf(2)
        : headers.authorization === 'Bearer access-2'
          ? tokensOf(3)
          : refusal(401, 'token_expired')
    expect((await change()).status).toBe(200)
    expect(await auth.getAccessToken()).toBe('access-3')
  })

  test('the state shows the claims of the token and changes only with the token', async () => {
    const token = (claims: object) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`
    const { service, auth } = await signedInTab()
    expect(auth.state).toMatchObject({ roles: [], permissions: [] })
    const access_token = token({ roles: ['clerk'], permissions: ['invoices:read', 'notes:löschen'] })
    service.answer = () => tokensOf(2, { access_token, organization: { id: 'o-1', slug: 'acme', name: 'Acme', role_codes: [] } })
    const before = auth.state
    await auth.refresh()
    const { state } = auth
    expect(state).toMatchObject({ roles: ['clerk'], organization: { slug: 'acme' } })
    if (state.status !== 'signed_in') throw new Error('not signed in')
    expect(state.has('invoices:read', 'notes:löschen')).toBe(true)
    expect(state.has('invoices:read', 'invoices:void')).toBe(false)
    expect(auth.state).toBe(state)
    expect(before).not.toBe(state)
  })

  test('a refused switch of organization keeps the session, and an ended session signs out', async () => {
    const { service, auth } = await signedInTab()
    service.answer = () => refusal(403, 'organization_membership_required')
    const { switchOrganization } = await auth.account()
    expect(await switchOrganization('o-1')).toMatchObject({ ok: false, error: { code: 'organization_membership_required' } })
    expect(service.seen.at(-1)?.body).toEqual({ refresh_token: 'refresh-1', organization_id: 'o-1' })
    expect(await auth.getAccessToken()).toBe('access-1')
    service.answer = () => tokensOf(2, { organization: { id: 'o-1', slug: 'acme', name: 'Acme', role_codes: ['org_admin'] } })
    expect(await switchOrganization('o-1')).toEqual({ ok: true })
    expect(auth.state).toMatchObject({ organization: { id: 'o-1' } })
    service.answer = () => refusal(401, 'invalid_refresh_token')
    expect(await switchOrganization('o-2')).toMatchObject({ ok: false, error: { code: 'signed_out' } })
    expect(auth.state).toMatchObject({ status: 'signed_out', reason: 'session_ended' })
  })
})

describe('refresh', () => {
  test.each(['local', 'memory'] as const)('many calls at once make one refresh, with tokens in %s storage', async (storage) => {
    const { auth, platform, count } = await signedInTab({ storage })
    platform.advance(871)
    const tokens = await Promise.all(Array.from({ length: 20 }, () => auth.getAccessToken()))
    expect(new Set(tokens)).toEqual(new Set(['access-2']))
    expect(count('/auth/refresh')).toBe(1)
  })

  test.skipIf(!buildPlatform().locks)('five tabs at once make one refresh', async () => {
    const { platform, auth, options, count } = await signedInTab()
    const tabs = [auth, ...Array.from({ length: 4 }, () => buildAuth(platform, options))]
    for (let round = 2; round <= 6; round += 1) {
      platform.advance(900)
      const tokens = await Promise.all(tabs.map((tab) => tab.getAccessToken()))
      expect(new Set(tokens)).toEqual(new Set([`access-${round}`]))
    }
    expect(count('/auth/refresh')).toBe(5)
  })

  test('a clock that jumps by hours costs one refresh', async () => {
    const { auth, platform, count } = await signedInTab()
    platform.advance(-3_600)
    expect(await auth.getAccessToken()).toBe('access-2')
    expect(await auth.getAccessToken()).toBe('access-2')
    platform.advance(7_200)
    expect(await auth.getAccessToken()).toBe('access-3')
    expect(count('/auth/refresh')).toBe(2)
  })

  test('a refresh whose answer is lost is repeated with the same refresh token', async () => {
    const { auth, platform, service } = await signedInTab()
    service.answer = (_, count) => (count === 1 ? 'cut' : tokensOf(2))
    platform.advance(900)
    expect(await auth.getAccessToken()).toBe('access-2')
    const sent = service.seen.filter(({ path }) => path === '/auth/refresh').map(({ body }) => body.refresh_token)
    expect(sent).toEqual(['refresh-1', 'refresh-1'])
  })

  test('a session survives a lost network, shows as offline, and continues when the network returns', async () => {
    const { auth, platform, service, states } = await signedInTab()
    const { answer } = service
    service.answer = () => 'cut'
    platform.setOnline(false)
    platform.advance(900)
    expect(await errorOf(auth.getAccessToken())).toMatchObject({ code: 'service_unreachable', retryable: true })
    expect(auth.state).toMatchObject({ status: 'signed_in', offline: true })

    service.answer = answer
    platform.setOnline(true)
    platform.fire('online')
    await expect.poll(() => service.seen.length, { interval: 10 }).toBe(3)
    expect(await auth.getAccessToken()).toBe('access-2')
    expect(auth.state).toMatchObject({ status: 'signed_in', offline: false })
    expect(states.map((state) => state.status === 'signed_in' && state.offline)).toEqual([false, true, false])
    platform.fire('offline')
    expect(auth.state).toMatchObject({ offline: true })
  })

  test('a token that is valid for a few more seconds is used if no refresh succeeds', async () => {
    const { auth, platform, service } = await signedInTab()
    service.answer = () => refusal(503, 'unavailable')
    platform.advance(880)
    expect(await auth.getAccessToken()).toBe('access-1')
    platform.advance(20)
    expect((await errorOf(auth.getAccessToken())).code).toBe('unavailable')
    expect(auth.state.status).toBe('signed_in')
  })

  test.each([
    [401, 'invalid_refresh_token'],
    [401, 'refresh_token_reused'],
    [403, 'account_suspended'],
    [403, 'app_access_denied'],
  ])('a refresh answered %i %s ends the session', async (status, code) => {
    const { auth, platform, service, states } = await signedInTab()
    service.answer = () => refusal(status, code)
    platform.advance(900)
    expect((await errorOf(auth.getAccessToken())).code).toBe('signed_out')
    expect(states.at(-1)).toEqual({ status: 'signed_out', reason: 'session_ended' })
    expect((platform.localStorage as MapStorage).items.size).toBe(0)
    expect((await errorOf(auth.getAccessToken())).code).toBe('signed_out')
    expect(service.seen.length).toBe(2)
  })

  test.each([
    ['429', refusal(429, 'rate_limited')],
    ['a proxy that forbids', { status: 403, body: '<h1>Forbidden</h1>' }],
  ])('the session survives this answer to a refresh: %s', async (_, reply) => {
    const { auth, platform, service } = await signedInTab()
    service.answer = () => reply
    platform.advance(900)
    expect((await errorOf(auth.getAccessToken())).retryable).toBe(true)
    expect(auth.state.status).toBe('signed_in')
  })

  test('an answer to a refresh that comes after a logout does not sign the user in again', async () => {
    const { auth, platform, service, count } = await signedInTab()
    const answer = later<PeerReply>()
    service.answer = ({ path }) => (path === '/auth/refresh' ? answer.promise : { status: 204 })
    platform.advance(900)
    const token = errorOf(auth.getAccessToken())
    await expect.poll(() => count('/auth/refresh'), { interval: 10 }).toBe(1)
    await auth.logout()
    answer.resolve(tokensOf(2))
    expect((await token).code).toBe('signed_out')
    expect(auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
    expect((platform.localStorage as MapStorage).items.size).toBe(0)
  })

  test.each([
    ['a refusal', refusal(401, 'invalid_refresh_token')],
    ['an answer', tokensOf(2)],
  ])('%s that comes after another login leaves the new session alone', async (_, late) => {
    const { auth, platform, service, count, options } = await signedInTab()
    const answer = later<PeerReply>()
    service.answer = ({ path }) => {
      if (path === '/auth/refresh') return answer.promise
      return path === '/auth/login' ? tokensOf(7) : { status: 204 }
    }
    platform.advance(900)
    const token = auth.getAccessToken()
    await expect.poll(() => count('/auth/refresh'), { interval: 10 }).toBe(1)
    // Without the lock, it does not wait for its turn, as after the longest wait.
    await buildAuth({ ...platform, locks: undefined }, options).login(credentials)
    answer.resolve(late)
    expect(await token).toBe('access-7')
    expect(await auth.getAccessToken()).toBe('access-7')
    expect(auth.state.status).toBe('signed_in')
  })
})

describe('fetch', () => {
  /** A backend that accepts only this token. */
  const startApi = (token: () => string) =>
    startPeer(({ headers, body }) =>
      headers.authorization === `Bearer ${token()}` ? { status: 200, body: { got: body } } : refusal(401, 'token_expired'),
    )

  test('fetch sends the token, and after a refusal refreshes once and sends the same body again', async () => {
    let good = 'access-1'
    const api = await startApi(() => good)
    const { auth, count } = await signedInTab({ apiOrigins: [api.url] })
    expect((await auth.fetch(`${api.url}/notes`)).status).toBe(200)
    good = 'access-2'
    const response = await auth.fetch(`${api.url}/notes`, { method: 'POST', body: 'a note', headers: { 'x-mine': '1' } })
    expect(await response.json()).toEqual({ got: 'a note' })
    expect(api.seen.slice(1).map(({ body, headers }) => [body, headers['x-mine'], headers.authorization])).toEqual([
      ['a note', '1', 'Bearer access-1'],
      ['a note', '1', 'Bearer access-2'],
    ])
    expect(count('/auth/refresh')).toBe(1)
  })

  test('fetch tries an API that refuses every token twice and returns its answer', async () => {
    const api = await startApi(() => 'another')
    const { auth, count } = await signedInTab({ apiOrigins: [api.url] })
    const response = await auth.fetch(api.url)
    expect(response.status).toBe(401)
    expect(await response.json()).toMatchObject({ code: 'token_expired' })
    expect([api.seen.length, count('/auth/refresh')]).toEqual([2, 1])
  })

  test('fetch does not refresh at each call to an API that refuses every token', async () => {
    const api = await startApi(() => 'another')
    const { auth, platform, count } = await signedInTab({ apiOrigins: [api.url] })
    for (let call = 1; call <= 5; call += 1) expect((await auth.fetch(api.url)).status).toBe(401)
    expect(count('/auth/refresh')).toBe(1)
    platform.advance(10)
    await auth.fetch(api.url)
    expect(count('/auth/refresh')).toBe(2)
  })

  test('calls that are refused at the same time make one refresh', async () => {
    const api = await startApi(() => 'access-2')
    const { auth, count } = await signedInTab({ apiOrigins: [api.url] })
    const responses = await Promise.all(Array.from({ length: 10 }, () => auth.fetch(api.url)))
    expect(responses.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    expect(count('/auth/refresh')).toBe(1)
  })

  test('fetch returns the refusal and signs out when the session has ended', async () => {
    const api = await startApi(() => 'none')
    const { auth, service } = await signedInTab({ apiOrigins: [api.url] })
    service.answer = () => refusal(401, 'invalid_refresh_token')
    expect((await auth.fetch(api.url)).status).toBe(401)
    expect(auth.state).toEqual({ status: 'signed_out', reason: 'session_ended' })
    expect((await errorOf(auth.fetch(api.url))).code).toBe('signed_out')
    expect(api.seen.length).toBe(1)
  })

  test('fetch sends nothing to an origin that is not listed', async () => {
    const elsewhere = await startPeer(() => ({ status: 200, body: {} }))
    const { auth } = await signedInTab({ apiOrigins: ['https://api.example'] })
    for (const url of [
      elsewhere.url,
      new URL(elsewhere.url),
      new Request(elsewhere.url),
      'https://api.example.evil/',
      'http://api.example/',
    ])
      expect((await errorOf(auth.fetch(url))).code).toBe('origin_not_allowed')
    expect(elsewhere.seen).toEqual([])
  })
})

describe('fetch of the service itself', () => {
  const at = (service: { url: string }, path: string) => `${service.url}/api/v1${path}`
  const post = { method: 'POST', body: '{}' }

  test('fetch adopts the tokens of a password change for every tab, and the next refresh uses them', async () => {
    const { service, platform, auth, options, count } = await signedInTab()
    const other = buildAuth(platform, options)
    service.answer = () => tokensOf(7, { device_token: 'device-7' })
    const response = await auth.fetch(at(service, '/auth/password/change'), post)
    expect(await response.json()).toMatchObject({ access_token: 'access-7' })
    expect(await Promise.all([auth, other].map((each) => each.getAccessToken()))).toEqual(['access-7', 'access-7'])
    platform.advance(900)
    service.answer = () => tokensOf(8)
    expect(await auth.getAccessToken()).toBe('access-8')
    expect(service.seen.at(-1)).toMatchObject({ path: '/auth/refresh', body: { refresh_token: 'refresh-7' } })
    // It is the same session, so it must not be ended.
    expect(count('/auth/logout')).toBe(0)
    expect([...(platform.localStorage as MapStorage).items.values()]).toContain('device-7')
  })

  test('fetch adopts the organization of a refresh that asked for one', async () => {
    const { service, auth, count } = await signedInTab()
    const organization = { id: 'o-1', slug: 'acme', name: 'Acme', role_codes: ['org_member'] }
    service.answer = () => tokensOf(7, { organization })
    await auth.fetch(at(service, '/auth/refresh?of=tab'), post)
    expect(auth.state).toMatchObject({ status: 'signed_in', organization })
    expect([await auth.getAccessToken(), count('/auth/logout')]).toEqual(['access-7', 0])
  })

  test('loginWithEmailCode sends the request id and the device token, and submits a second factor', async () => {
    const { service, auth, platform, options } = await buildTab(({ path }) =>
      path === '/auth/email-code' ? { status: 202, body: { request_id: 'r-1' } } : tokensOf(1, { device_token: 'device-1' }),
    )
    expect(await auth.requestEmailCode({ email: 'ada@example.com', requestId: 'r-0' })).toEqual({ ok: true, requestId: 'r-1' })
    expect(service.seen[0]!.body).toEqual({ email: 'ada@example.com', app_code: 'notes', request_id: 'r-0' })
    expect(await auth.loginWithEmailCode({ requestId: 'r-1', code: '123456' })).toMatchObject({ status: 'signed_in', user: USER })
    const again = buildAuth(platform, options)
    service.answer = ({ body }) => (body.two_factor_code ? tokensOf(2) : { status: 401, body: { requires_2fa: true } })
    const result = await again.loginWithEmailCode({ requestId: 'r-1', code: '123456' })
    if (!result.ok || result.status !== 'two_factor_required') throw new Error('no code was asked for')
    await result.submitCode('654321')
    expect(service.seen.find(({ body }) => body.two_factor_code)?.body).toEqual({
      ...{ request_id: 'r-1', code: '123456', two_factor_code: '654321', device_token: 'device-1' },
    })
  })

  test('requestEmailCode and loginWithEmailCode return a refusal as an error', async () => {
    const { auth } = await buildTab(({ path }) =>
      refusal(path === '/auth/email-code' ? 400 : 401, path === '/auth/email-code' ? 'validation_failed' : 'invalid_mail_code'),
    )
    expect(await auth.requestEmailCode({ email: 'ada' })).toMatchObject({ ok: false, error: { code: 'validation_failed' } })
    const wrong = await auth.loginWithEmailCode({ requestId: 'r-1', code: '000000' })
    expect(wrong).toMatchObject({ ok: false, error: { code: 'invalid_mail_code' } })
  })

  test.each(['magic-link', 'email-code'])(
    'fetch adopts another user from %s/consume, but not from a registration',
    async (way) => {
      const { service, auth } = await signedInTab()
      service.answer = () => tokensOf(2, { user: { ...USER, id: 'u-2' } })
      await auth.fetch(at(service, '/auth/register'), post)
      expect(auth.state).toMatchObject({ user: USER })
      await auth.fetch(at(service, `/auth/${way}/consume`), post)
      expect(auth.state).toMatchObject({ user: { id: 'u-2' } })
    },
  )

  test('fetch of a magic link signs in, and ends the session that was there before', async () => {
    const { service, auth } = await buildTab(() => tokensOf(1))
    await auth.fetch(at(service, '/auth/magic-link/consume'), post)
    expect(service.seen[0]!.headers.authorization).toBeUndefined()
    expect(auth.state).toMatchObject({ status: 'signed_in', user: USER })
    service.answer = () => tokensOf(2, { user: { ...USER, id: 'u-2' } })
    await auth.fetch(at(service, '/auth/magic-link/consume'), post)
    expect(auth.state).toMatchObject({ user: { id: 'u-2' } })
    await vi.waitFor(() =>
      expect(service.seen.at(-1)).toMatchObject({ path: '/auth/logout', body: { refresh_token: 'refresh-1' } }),
    )
  })

  test('fetch of a changed name updates the state of every tab', async () => {
    const { service, platform, auth, options, states } = await signedInTab()
    const other = buildAuth(platform, options)
    service.answer = () => ({ status: 200, body: { user: { ...USER, first_name: 'Augusta' }, roles: [] } })
    await auth.fetch(at(service, '/auth/me'), { method: 'PATCH', body: '{}' })
    expect(auth.state).toMatchObject({ user: { first_name: 'Augusta', email: USER.email } })
    await vi.waitFor(() => expect(other.state).toMatchObject({ user: { first_name: 'Augusta' } }))
    const changes = states.length
    await auth.fetch(at(service, '/auth/me'))
    expect(states).toHaveLength(changes)
  })

  test('fetch adopts no tokens of another user, of a refusal, of another origin or after a logout', async () => {
    const { service, auth } = await signedInTab()
    const others = { user: { ...USER, id: 'u-2' } }
    service.answer = () => tokensOf(7, others)
    for (const path of ['/auth/register', '/auth/login', '/auth/password/change', '/admin/users'])
      await auth.fetch(at(service, path), post)
    service.answer = () => ({ ...(tokensOf(7) as object), status: 403 }) as PeerReply
    await auth.fetch(at(service, '/auth/password/change'), post)
    const api = await startPeer(() => tokensOf(7))
    const page = buildAuth(buildPlatform(), { authUrl: service.url, appCode: 'notes', apiOrigins: [api.url] })
    service.answer = strictService()
    await page.login(credentials)
    await page.fetch(`${api.url}/api/v1/auth/password/change`, post)
    expect([await auth.getAccessToken(), await page.getAccessToken()]).toEqual(['access-1', 'access-1'])
    const answered = later<PeerReply>()
    service.answer = ({ path }) => (path === '/auth/password/change' ? answered.promise : { status: 204 })
    const changing = auth.fetch(at(service, '/auth/password/change'), post)
    await vi.waitFor(() => expect(service.seen.at(-1)!.path).toBe('/auth/password/change'))
    await auth.logout()
    answered.resolve(tokensOf(8))
    expect((await changing).status).toBe(200)
    expect(auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
  })
})

describe.skipIf(!buildPlatform().locks)('fetch of the service during a login in another tab', () => {
  test('fetch adopts no tokens while another tab signs another user in', async () => {
    const { service, platform, auth, options } = await signedInTab()
    const other = buildAuth(platform, options)
    const others = { user: { ...USER, id: 'u-2' } }
    service.answer = ({ path }) => (path === '/auth/login' ? tokensOf(2, others) : tokensOf(7))
    const isFree = later()
    const name = (platform.localStorage as MapStorage).items.keys().next().value!
    const asked = vi.spyOn(platform.locks!, 'request')
    onTestFinished(() => asked.mockRestore())
    const holding = platform.locks!.request(name, { signal: AbortSignal.timeout(5_000) }, () => isFree.promise)
    const login = other.login(credentials)
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(2))
    const change = auth.fetch(`${service.url}/api/v1/auth/password/change`, { method: 'POST', body: '{}' })
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(3))
    isFree.resolve()
    await Promise.all([holding, login, change])
    expect(await Promise.all([auth, other].map((tab) => tab.getAccessToken()))).toEqual(['access-2', 'access-2'])
    expect([auth.state, other.state]).toMatchObject([{ user: { id: 'u-2' } }, { user: { id: 'u-2' } }])
  })
})

describe('logout', () => {
  // covers auth-tabs
  test('logout signs out every tab of the browser and ends the session at the service', async () => {
    const { auth, platform, service, options } = await signedInTab()
    const other = buildAuth(platform, options)
    expect(other.state.status).toBe('signed_in')
    await auth.logout()
    expect(service.seen.at(-1)).toMatchObject({ path: '/auth/logout', body: { refresh_token: 'refresh-1' } })
    await expect.poll(() => other.state, { interval: 10 }).toEqual({ status: 'signed_out', reason: 'logout' })
    expect((await errorOf(other.getAccessToken())).code).toBe('signed_out')
    await auth.logout()
    expect(service.seen.length).toBe(2)
  })

  test('logout signs out here and throws service_unreachable if the service does not answer', async () => {
    const { auth, service } = await signedInTab()
    service.answer = () => 'cut'
    expect((await errorOf(auth.logout())).code).toBe('service_unreachable')
    expect(auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
  })

  test('logout everywhere sends an access token, refreshed if it has expired', async () => {
    const { auth, platform, service } = await signedInTab()
    platform.advance(900)
    await auth.logout({ everywhere: true })
    expect(service.seen.at(-1)).toMatchObject({ path: '/auth/logout-all', headers: { authorization: 'Bearer access-2' } })
    expect(auth.state.status).toBe('signed_out')
  })

  test.each([
    ['is out of reach', 'cut' as const, 'service_unreachable'],
    ['refuses', refusal(503, 'unavailable'), 'unavailable'],
  ])('logout everywhere throws when the service %s', async (_, reply, code) => {
    const { auth, service } = await signedInTab()
    service.answer = () => reply
    expect((await errorOf(auth.logout({ everywhere: true }))).code).toBe(code)
    expect(auth.state.status).toBe('signed_out')
  })
})

describe('tabs', () => {
  test('tabs with memory storage have separate sessions, and a logout in one ends both at the service', async () => {
    const { auth, platform, service, options } = await signedInTab({ storage: 'memory' })
    expect((platform.localStorage as MapStorage).items.size).toBe(0)
    const other = buildAuth(platform, options)
    expect(other.state.status).toBe('signed_out')
    await other.login(credentials)
    await auth.logout()
    await expect.poll(() => other.state.status, { interval: 10 }).toBe('signed_out')
    const ended = () => service.seen.filter(({ path }) => path === '/auth/logout').map(({ body }) => body.refresh_token)
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-1', 'refresh-2'])
  })

  test('a login in one tab signs in the other', async () => {
    const { auth, platform, options } = await buildTab()
    const other = buildAuth(platform, options)
    await auth.login(credentials)
    await expect.poll(() => other.state.status, { interval: 10 }).toBe('signed_in')
    expect(await other.getAccessToken()).toBe('access-1')
  })

  test('a tab that slept through a logout notices it when it wakes', async () => {
    const { auth, platform, options } = await signedInTab()
    const deaf = buildAuth(platform, { ...options, crossTab: false })
    await auth.logout()
    expect(deaf.state.status).toBe('signed_in')
    platform.fire('pageshow')
    expect(deaf.state.status).toBe('signed_out')
  })

  /** A second tab. The test decides when its storage changes and when its messages arrive. */
  function buildLaggingTab(platform: TestPlatform, options: BrowserAuthOptions) {
    const storage = new LaggingStorage(platform.localStorage as MapStorage)
    const channel: Channel = { postMessage: () => {}, close: () => {}, onmessage: null }
    const own = { ...buildPlatform({ localStorage: storage }), now: platform.now, openChannel: () => channel }
    const auth = buildAuth(own, options)
    const states: AuthState[] = []
    auth.subscribe((state) => void states.push(state))
    const deliver = () => {
      storage.deliver()
      own.fire('storage')
    }
    const hear = (reason: string | null) => channel.onmessage!({ data: { reason } })
    return { auth, states, storage, deliver, hear }
  }

  test.each(['logout', 'session_ended'] as const)(
    'the message "%s" has no effect until the storage has changed',
    async (reason) => {
      const { auth, platform, options } = await signedInTab()
      const other = buildLaggingTab(platform, options)
      await auth.logout()
      other.hear(reason)
      expect(other.states).toEqual([])
      other.deliver()
      expect(other.states).toEqual([{ status: 'signed_out', reason }])
    },
  )

  test('a logout that is seen before its message takes effect, and the message adds its reason', async () => {
    const { auth, platform, options } = await signedInTab()
    const other = buildLaggingTab(platform, options)
    await auth.logout()
    other.deliver()
    expect(other.auth.state).toEqual({ status: 'signed_out', reason: null })
    other.hear('logout')
    expect(other.auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
  })

  test('a login counts once the storage has it, and the next logout does not inherit an old reason', async () => {
    const { auth, platform, options } = await signedInTab()
    const other = buildLaggingTab(platform, options)
    await auth.logout()
    other.deliver()
    other.hear('logout')
    await auth.login(credentials)
    other.hear(null)
    expect(other.auth.state).toEqual({ status: 'signed_out', reason: 'logout' })
    other.deliver()
    expect(other.auth.state).toMatchObject({ status: 'signed_in' })
    await auth.logout()
    other.deliver()
    expect(other.auth.state).toEqual({ status: 'signed_out', reason: null })
  })

  test('messages between tabs carry no session data', async () => {
    const { platform, options } = await buildTab()
    const messages: unknown[] = []
    const channel: Channel = { postMessage: (message) => void messages.push(message), close: () => {}, onmessage: null }
    const auth = buildAuth({ ...platform, openChannel: () => channel }, options)
    await auth.login(credentials)
    platform.advance(900)
    await auth.getAccessToken()
    await auth.logout()
    expect(messages).toEqual([{ reason: null }, { reason: null }, { reason: 'logout' }])
  })

  describe.skipIf(!buildPlatform().locks)('tabs that see the storage late', () => {
    test('two tabs that see the storage late refresh once, because the second waits for the first', async () => {
      const { auth, platform, options, count } = await signedInTab()
      const other = buildLaggingTab(platform, options)
      platform.advance(900)
      const tokens = Promise.all([auth.getAccessToken(), other.auth.getAccessToken()])
      await auth.getAccessToken()
      setTimeout(other.deliver, 100)
      expect(await tokens).toEqual(['access-2', 'access-2'])
      expect(count('/auth/refresh')).toBe(1)
    })

    test('a login in a late tab ends the session that another tab has just begun', async () => {
      const { auth, platform, options, service } = await buildTab()
      const other = buildLaggingTab(platform, options)
      await auth.login(credentials)
      const login = other.auth.login(credentials)
      setTimeout(other.deliver, 100)
      await login
      const ended = () => service.seen.filter(({ path }) => path === '/auth/logout').map(({ body }) => body.refresh_token)
      await expect.poll(ended, { interval: 10 }).toEqual(['refresh-1'])
    })

    test('a late tab stops waiting for a change that never comes, and refreshes', async () => {
      const { auth, platform, options, service, count } = await signedInTab()
      const other = buildLaggingTab(platform, options)
      platform.advance(900)
      service.answer = () => tokensOf(2)
      await auth.getAccessToken()
      expect(await other.auth.getAccessToken()).toBe('access-2')
      expect(count('/auth/refresh')).toBe(2)
    })
  })

  test('different apps and services in one browser share no session', async () => {
    const { auth, platform, options } = await signedInTab()
    expect(buildAuth(platform, { ...options, appCode: 'shop' }).state.status).toBe('signed_out')
    expect(buildAuth(platform, { ...options, authUrl: 'https://auth.example' }).state.status).toBe('signed_out')
    expect(auth.state.status).toBe('signed_in')
  })
})

describe('subscribe', () => {
  test('a listener that throws stops neither the login nor other listeners, and its error is reported', async () => {
    const thrown = vi.fn()
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException').once('uncaughtException', thrown)
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException')
      for (const listener of listeners) process.on('uncaughtException', listener)
    })
    const { auth } = await buildTab()
    auth.subscribe(() => {
      throw new Error('the page failed')
    })
    const last = vi.fn()
    auth.subscribe(last)
    expect(await auth.login(credentials)).toMatchObject({ status: 'signed_in' })
    expect(last).toHaveBeenCalledTimes(1)
    await expect.poll(() => thrown.mock.calls.length, { interval: 10 }).toBe(1)
  })

  test('listeners are not called after they unsubscribe or after dispose', async () => {
    const { auth } = await buildTab()
    const [left, stayed] = [vi.fn(), vi.fn()]
    auth.subscribe(left)()
    auth.subscribe(stayed)
    await auth.login(credentials)
    auth.dispose()
    await auth.logout()
    expect([left.mock.calls.length, stayed.mock.calls.length]).toEqual([0, 1])
  })
})
