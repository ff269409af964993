import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { BrowserAuthError } from './errors.ts'
import { challengeOf } from './pkce.ts'
import { type Answering, buildAuth, buildPlatform, refusal, startPeer, tokensOf } from './test-platform.ts'

const errorCodeOf = (call: Promise<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => (BrowserAuthError.is(error) ? error.code : String(error)),
  )

/** A tab that has left for the provider. `back` returns the URL that the provider sends it back to. */
async function begin(
  answer: Answering = () => tokensOf(1),
  options: Parameters<ReturnType<typeof buildAuth>['sso']['start']>[1] = {},
) {
  const service = await startPeer(answer)
  const platform = buildPlatform()
  const auth = buildAuth(platform, { authUrl: service.url, appCode: 'notes' })
  await auth.sso.start('google', options)
  const started = new URL(platform.assigned[0]!)
  const back = (query: string) =>
    `${started.searchParams.get('redirect_url')}?${query}&state=${started.searchParams.get('state')}`
  return { service, platform, auth, started, back }
}

test('challengeOf matches the example of RFC 7636, appendix B', async () => {
  expect(await challengeOf('dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk')).toBe('E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM')
})

test('sso.start leads to the service with the app, the redirect URL, a challenge and a new state of this tab', async () => {
  const { service, started, platform } = await begin()
  expect(started.href.split('?')[0]).toBe(`${service.url}/api/v1/auth/sso/google/start`)
  expect(Object.fromEntries(started.searchParams)).toEqual({
    app_code: 'notes',
    redirect_url: 'https://app.example/start',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
  })
  const again = await begin()
  expect(again.started.searchParams.get('state')).not.toBe(started.searchParams.get('state'))
  expect(platform.localStorage).toMatchObject({ items: new Map() })
})

// covers auth-pkce
test('sso.finish signs the user in with the right verifier and cleans the address', async () => {
  const { service, auth, platform, started, back } = await begin(undefined, { redirectUrl: '/cb?keep=1', returnTo: '/notes/7' })
  expect(started.searchParams.get('redirect_url')).toBe('https://app.example/cb?keep=1')
  platform.visit(back('').replace('?&', `&code=c-1&`))
  expect(await auth.sso.finish()).toMatchObject({ status: 'signed_in', returnTo: 'https://app.example/notes/7' })
  const { code, code_verifier } = service.seen[0]!.body
  expect(code).toBe('c-1')
  expect(createHash('sha256').update(code_verifier).digest('base64url')).toBe(started.searchParams.get('code_challenge'))
  expect(platform.location!.href).toBe('https://app.example/cb?keep=1')
  expect(auth.state.status).toBe('signed_in')
})

test('sso.finish returns undefined on a page without an answer', async () => {
  const { auth } = await begin()
  expect(await auth.sso.finish()).toBeUndefined()
  expect(await auth.sso.finish('https://app.example/?code=c-1')).toBeUndefined()
  expect(await auth.sso.finish('nowhere')).toBeUndefined()
})

test('sso.finish refuses a state that this tab did not create, before it sends anything', async () => {
  const { service, auth, back } = await begin()
  const forged = 'https://app.example/start?code=c-1&state=forged'
  expect(await errorCodeOf(auth.sso.finish(forged))).toBe('sso_state_mismatch')
  expect(service.seen).toEqual([])
  expect(await auth.sso.finish(back('code=c-1'))).toMatchObject({ status: 'signed_in' })
})

test('a code is exchanged once: two calls at once share a login, and a reload is refused', async () => {
  const { service, auth, platform, back } = await begin()
  const [first, second] = await Promise.all([auth.sso.finish(back('code=c-1')), auth.sso.finish(back('code=c-1'))])
  expect(first).toBe(second)
  expect(await auth.sso.finish(back('code=c-1'))).toBe(first)
  expect(service.seen.length).toBe(1)
  const reloaded = buildAuth(platform, { authUrl: service.url, appCode: 'notes' })
  expect(await errorCodeOf(reloaded.sso.finish(back('code=c-1')))).toBe('sso_state_mismatch')
  expect(service.seen.length).toBe(1)
})

test('an exchange that the service did not answer can be repeated, and a refused one cannot', async () => {
  const { service, auth, back } = await begin((_, count) => (count === 1 ? 'cut' : refusal(400, 'invalid_token')))
  expect(await errorCodeOf(auth.sso.finish(back('code=c-1')))).toBe('service_unreachable')
  expect(await errorCodeOf(auth.sso.finish(back('code=c-1')))).toBe('invalid_token')
  expect(await errorCodeOf(auth.sso.finish(back('code=c-1')))).toBe('invalid_token')
  expect(service.seen.length).toBe(2)
})

test('sso.finish asks for a second factor and submits the code', async () => {
  const { service, auth, back } = await begin(({ body }) =>
    body.two_factor_code ? tokensOf(1) : { status: 401, body: { requires_2fa: true } },
  )
  const result = await auth.sso.finish(back('code=c-1'))
  if (result?.status !== 'two_factor_required') throw new Error(result?.status)
  expect(await result.submitCode('123456')).toMatchObject({ status: 'signed_in' })
  expect(service.seen[1]!.body).toEqual({ ...service.seen[0]!.body, two_factor_code: '123456' })
})

/** A tab where a user is signed in. `answer` is what the service answers to a link and to its code. */
async function signedIn(answer: Answering) {
  const service = await startPeer((request, count) => (request.path === '/auth/login' ? tokensOf(1) : answer(request, count)))
  const platform = buildPlatform()
  const auth = buildAuth(platform, { authUrl: service.url, appCode: 'notes' })
  await auth.login({ email: 'ada@example.com', password: 'a password' })
  service.seen.length = 0
  return { service, platform, auth }
}

const location = 'https://id.example/authorize?state=of-the-service'
const identity = { id: 'i-1', provider: 'acme', created_at: '2026-01-01T00:00:00.000Z' }

test('sso.link begins and completes with the token of the signed-in user and keeps the session', async () => {
  const answer: Answering = ({ path }) => ({ status: 200, body: path === '/auth/identities/link' ? { location } : identity })
  const { service, platform, auth } = await signedIn(answer)
  await auth.sso.link('acme', { redirectUrl: '/cb', returnTo: '/settings', password: 'a password', twoFactorCode: '123456' })
  expect(platform.assigned).toEqual([location])
  const begun = service.seen[0]!
  expect(begun.body).toEqual({
    provider: 'acme',
    redirect_url: 'https://app.example/cb',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
    password: 'a password',
    two_factor_code: '123456',
  })

  platform.visit(`https://app.example/cb?code=c-1&state=${begun.body.state}`)
  const ended = { status: 'linked', provider: 'acme', returnTo: 'https://app.example/settings' }
  expect(await auth.sso.finish()).toEqual(ended)
  const { path, headers, body } = service.seen[1]!
  expect([path, begun.headers.authorization, headers.authorization]).toEqual([
    '/auth/sso/token',
    ...Array(2).fill('Bearer access-1'),
  ])
  expect(createHash('sha256').update(body.code_verifier).digest('base64url')).toBe(begun.body.code_challenge)
  expect(platform.location!.href).toBe('https://app.example/cb')
  expect([auth.state.status, await auth.getAccessToken()]).toEqual(['signed_in', 'access-1'])
  const reloaded = buildAuth(platform, { authUrl: service.url, appCode: 'notes' })
  const again = reloaded.sso.finish(`https://app.example/cb?code=c-1&state=${begun.body.state}`)
  expect(await errorCodeOf(again)).toBe('sso_state_mismatch')
})

test('a refused sso.link stays on the page and stores nothing', async () => {
  const { platform, auth } = await signedIn(() => refusal(403, 'fresh_login_required'))
  expect(await errorCodeOf(auth.sso.link('acme'))).toBe('fresh_login_required')
  expect([platform.assigned, platform.sessionStorage]).toMatchObject([[], { items: new Map() }])
})

test('sso.link goes on with a renewed token, and fails with signed_out after a logout', async () => {
  const { service, auth, platform } = await signedIn(({ path, headers }) => {
    if (path === '/auth/refresh') return tokensOf(2)
    if (path === '/auth/logout') return { status: 204 }
    return headers.authorization === 'Bearer access-1' ? refusal(401, 'token_revoked') : { status: 200, body: { location } }
  })
  await auth.sso.link('acme')
  expect(platform.assigned).toEqual([location])
  const { state } = service.seen[0]!.body
  await auth.logout()
  expect(await errorCodeOf(auth.sso.finish(`https://app.example/start?code=c-1&state=${state}`))).toBe('signed_out')
  expect(await errorCodeOf(auth.sso.link('acme'))).toBe('signed_out')
})

test.each([
  ['access_denied', 'sso_denied'],
  ['temporarily_unavailable', 'sso_failed'],
])('a provider that answers %s ends the login with %s, and nothing is exchanged', async (error, code) => {
  const { service, auth, platform, back } = await begin()
  platform.visit(back(`error=${error}&error_description=no&code=c-1`))
  expect(await errorCodeOf(auth.sso.finish())).toBe(code)
  expect(service.seen).toEqual([])
  expect(platform.location!.href).toBe('https://app.example/start')
})

test.each([
  ['redirectUrl', 'https://evil.example/'],
  ['redirectUrl', '//evil.example/'],
  ['returnTo', 'https://app.example.evil/'],
  ['returnTo', 'javascript:alert(1)'],
  ['returnTo', '\\\\evil.example'],
  ['returnTo', 'blob:https://app.example/0198c5a2'],
  ['redirectUrl', 'blob:https://app.example/0198c5a2'],
  ['returnTo', 'data:text/html,x'],
])('%s %s is refused because it leads away from the app', async (name, url) => {
  const { auth, platform } = await begin()
  expect(await errorCodeOf(auth.sso.start('google', { [name]: url }))).toBe('config_invalid')
  expect(platform.assigned.length).toBe(1)
})

test.each(['javascript:alert(1)', 'data:text/html,x', 'file:///x'])(
  'a page with the origin null is not sent to %s, which has the same origin',
  async (returnTo) => {
    const { auth, platform } = await begin()
    platform.visit('file:///page.html')
    Object.assign(platform.location!, { origin: 'null' })
    expect(await errorCodeOf(auth.sso.start('google', { redirectUrl: returnTo, returnTo }))).toBe('config_invalid')
    expect(platform.assigned.length).toBe(1)
  },
)

test.each(['javascript:alert(1)', 'data:text/html,x', '/login'])(
  'sso.link does not follow %s, even if the service answers with it',
  async (location) => {
    const { platform, auth } = await signedIn(() => ({ status: 200, body: { location } }))
    expect(await errorCodeOf(auth.sso.link('acme'))).toBe('service_unreachable')
    expect(platform.assigned).toEqual([])
  },
)

test('a provider name stays one segment of the path', async () => {
  const { auth, platform, service } = await begin()
  await auth.sso.start('../admin?x=', {})
  expect(platform.assigned[1]).toMatch(`${service.url}/api/v1/auth/sso/..%2Fadmin%3Fx%3D/start?`)
})
