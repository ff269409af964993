import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { BrowserAuthError } from './errors.ts'
import type { BrowserAuthOptions } from './options.ts'
import type { SignInOptions } from './sign-in-page.ts'
import {
  type Answering,
  buildAuth,
  buildPlatform,
  later,
  refusal,
  startPeer,
  type TestPlatform,
  tokensOf,
  USER,
} from './test-platform.ts'

const errorOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => (BrowserAuthError.is(error) ? error : new Error(String(error))),
  )
const codeOf = async (call: Promise<unknown>) => Object(await errorOf(call)).code

const metadata = {
  issuer: 'https://login.example',
  authorization_endpoint: 'https://login.example/oauth/authorize',
  end_session_endpoint: 'https://login.example/oauth/logout',
}

/** A service with a sign-in page. Its first code opens the session 1, the next one the session 2. */
async function startService(exchange: Answering = (_, count) => tokensOf(count)) {
  return startPeer((request, count) => {
    if (request.path === '/.well-known/oauth-authorization-server') return { status: 200, body: metadata }
    if (request.path === '/oauth/token') return exchange(request, count)
    return { status: 204 }
  })
}

type Service = Awaited<ReturnType<typeof startService>>

function buildTab(service: Service, platform: TestPlatform = buildPlatform(), options: Partial<BrowserAuthOptions> = {}) {
  const auth = buildAuth(platform, { authUrl: service.url, appCode: 'notes', ...options })
  const exchanges = () => service.seen.filter(({ path }) => path === '/oauth/token')
  return { service, platform, auth, exchanges }
}

/** A tab that has left for the sign-in page, which sends it back with `back`. */
async function begin(options?: SignInOptions, tab = startService().then((service) => buildTab(service))) {
  const { platform, auth, ...more } = await tab
  await auth.signIn(options)
  const asked = new URL(platform.assigned.at(-1)!)
  const query = Object.fromEntries(asked.searchParams)
  const back = (answer: Record<string, string>) =>
    `${query.redirect_uri}?${new URLSearchParams({ ...answer, state: query.state!, iss: metadata.issuer })}`
  return { platform, auth, asked, query, back, ...more }
}

test('the user is sent to the sign-in page with the app, the way back, a challenge and a state of this sign-in', async () => {
  const { asked, query } = await begin()
  expect(asked.origin + asked.pathname).toBe(metadata.authorization_endpoint)
  expect(query).toEqual({
    client_id: 'notes',
    redirect_uri: 'https://app.example/callback',
    response_type: 'code',
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
    state: expect.stringMatching(/^[\w-]{43}$/),
  })
  expect((await begin()).query.state).not.toBe(query.state)
})

test('each option becomes the parameter of its name', async () => {
  const { query } = await begin({
    prompt: 'login',
    provider: 'google',
    method: 'passkey',
    organizationId: 'o-1',
    maxAgeSec: 0,
    amr: 'mfa',
  })
  expect(query).toMatchObject({
    prompt: 'login',
    provider: 'google',
    method: 'passkey',
    organization_id: 'o-1',
    max_age: '0',
    acr_values: 'mfa',
  })
})

test('the way back signs the user in: the verifier fits the challenge, and the address is clean', async () => {
  const { auth, platform, back, query, exchanges } = await begin({ returnTo: '/notes/7?page=2#end' })
  platform.visit(back({ code: 'c-1' }))
  expect(await auth.handleRedirect()).toEqual({ returnTo: '/notes/7?page=2#end' })
  expect(auth.state).toMatchObject({ status: 'signed_in', user: { email: 'ada@example.com' } })
  const { code_verifier, ...sent } = Object.fromEntries(new URLSearchParams(exchanges()[0]!.body))
  expect(sent).toEqual({
    grant_type: 'authorization_code',
    client_id: 'notes',
    code: 'c-1',
    redirect_uri: 'https://app.example/callback',
  })
  expect(createHash('sha256').update(code_verifier!).digest('base64url')).toBe(query.code_challenge)
  expect(exchanges()[0]!.headers['content-type']).toMatch('application/x-www-form-urlencoded')
  expect(platform.location!.href).toBe('https://app.example/callback')
  expect(await auth.getAccessToken()).toBe('access-1')
})

test('without returnTo the user comes back to the page where they were; from the page of the way back, to the first one', async () => {
  const { auth, platform, back } = await begin()
  expect(await auth.handleRedirect(back({ code: 'c-1' }))).toEqual({ returnTo: '/start?x=1#top' })
  platform.visit('https://app.example/callback?lang=en')
  const again = await begin({}, Promise.resolve(buildTab(await startService(), platform)))
  expect(await again.auth.handleRedirect(again.back({ code: 'c-1' }))).toEqual({ returnTo: '/' })
})

test.each([
  '//evil.example',
  '/\\evil.example',
  '\\evil.example',
  '/a\\b',
  '/\t/evil.example',
  '/\n/evil.example',
  'https://evil.example/',
  'https://app.example/notes',
  'javascript:alert(1)',
  'notes',
  '',
])('returnTo %j is not a path of this origin and is refused', async (returnTo) => {
  const { auth, platform } = buildTab(await startService())
  expect(await codeOf(auth.signIn({ returnTo }))).toBe('config_invalid')
  expect(await codeOf(auth.signOut({ browser: true, returnTo }))).toBe('config_invalid')
  expect(platform.assigned).toEqual([])
})

test.each(['https://evil.example/callback', '//evil.example/callback', 'javascript:alert(1)'])(
  'a redirectUrl of another origin is refused: %s',
  async (redirectUrl) => {
    const { auth } = buildTab(await startService(), buildPlatform(), { redirectUrl })
    expect(await codeOf(auth.signIn())).toBe('config_invalid')
  },
)

test('redirectUrl may be a path or a URL', async () => {
  for (const redirectUrl of ['/auth/back', 'https://app.example/auth/back']) {
    const tab = Promise.resolve(buildTab(await startService(), buildPlatform(), { redirectUrl }))
    expect((await begin({}, tab)).query.redirect_uri).toBe('https://app.example/auth/back')
  }
})

test('an address without an answer gives undefined, and nothing is sent', async () => {
  const { auth, service } = await begin()
  const asked = service.seen.length
  for (const url of [
    'https://app.example/callback',
    'https://app.example/callback?code=c-1',
    'https://app.example/list?state=open',
    'https://app.example/?code=c-1&state=of-a-provider',
    'nowhere',
  ])
    expect(await auth.handleRedirect(url)).toBeUndefined()
  expect(service.seen.length).toBe(asked)
})

test('an answer of the sign-in page is not one of a provider', async () => {
  const { auth, back } = await begin()
  expect(await auth.sso.finish(back({ code: 'c-1' }))).toBeUndefined()
  expect(await auth.handleRedirect(back({ code: 'c-1' }))).toEqual({ returnTo: expect.any(String) })
})

test('an answer with another state, or of another service, is refused before anything is sent', async () => {
  const { auth, platform, service, back, exchanges } = await begin()
  const forged = 'https://app.example/callback?code=c-1&state=forged&iss=https%3A%2F%2Flogin.example'
  platform.visit(forged)
  expect(await codeOf(auth.handleRedirect())).toBe('sign_in_mismatch')
  expect(platform.location!.href).toBe('https://app.example/callback')
  const elsewhere = new URL(back({ code: 'c-1' }))
  for (const iss of ['https://evil.example', '', undefined]) {
    if (iss === undefined) elsewhere.searchParams.delete('iss')
    else elsewhere.searchParams.set('iss', iss)
    const { auth } = buildTab(service, platform)
    expect(await codeOf(auth.handleRedirect(elsewhere.href))).toBe('sign_in_mismatch')
  }
  expect(exchanges()).toEqual([])
})

test.each([
  ['access_denied', 'The person has refused'],
  ['login_required', 'The person has to sign in'],
  ['interaction_required', 'The person has to do something first'],
  ['invalid_request', 'prompt must be none, login or create'],
])('the error %s is thrown with its text, and nothing is exchanged', async (error, error_description) => {
  const { auth, platform, back, exchanges } = await begin()
  platform.visit(back({ error, error_description, code: 'c-1' }))
  const thrown = await errorOf(auth.handleRedirect())
  expect(thrown).toMatchObject({ code: error, message: error_description, retryable: false })
  expect(platform.location!.href).toBe('https://app.example/callback')
  expect([auth.state.status, exchanges()]).toEqual(['signed_out', []])
})

test('after an error the user may go back to the sign-in page and end the same sign-in', async () => {
  const { auth, platform, service, back } = await begin()
  expect(await codeOf(auth.handleRedirect(back({ error: 'access_denied' })))).toBe('access_denied')
  const reloaded = buildTab(service, platform)
  expect(await reloaded.auth.handleRedirect(back({ code: 'c-2' }))).toEqual({ returnTo: expect.any(String) })
})

test('a second call with the same address, a reload, and going back to the page do no harm', async () => {
  const { auth, platform, service, back, exchanges } = await begin({ returnTo: '/notes' })
  const answer = back({ code: 'c-1' })
  const [first, second] = await Promise.all([auth.handleRedirect(answer), auth.handleRedirect(answer)])
  expect(first).toBe(second)
  expect(await auth.handleRedirect(answer)).toBe(first)
  const reloaded = buildTab(service, platform)
  expect(await reloaded.auth.handleRedirect(answer)).toEqual({ returnTo: '/notes' })
  // The sign-in page gives another code at once to somebody who goes back to it.
  const again = buildTab(service, platform)
  expect(await again.auth.handleRedirect(back({ code: 'c-2' }))).toEqual({ returnTo: '/notes' })
  expect(exchanges().length).toBe(1)
  expect(again.auth.state.status).toBe('signed_in')
  await again.auth.logout()
  expect(await buildTab(service, platform).auth.handleRedirect(answer)).toEqual({ returnTo: '/notes' })
  expect(again.auth.state.status).toBe('signed_out')
})

test('two tabs that begin at once each end their own sign-in, in either order and in either tab', async () => {
  const service = await startService()
  const first = buildTab(service)
  const second = buildTab(service, buildPlatform({ localStorage: first.platform.localStorage }))
  const begun = await Promise.all([
    begin({ returnTo: '/first' }, Promise.resolve(first)),
    begin({ returnTo: '/second' }, Promise.resolve(second)),
  ])
  expect(await second.auth.handleRedirect(begun[1].back({ code: 'c-2' }))).toEqual({ returnTo: '/second' })
  // A link in a mail may lead on in another tab than the one that began.
  expect(await second.auth.handleRedirect(begun[0].back({ code: 'c-1' }))).toEqual({ returnTo: '/first' })
  const verifiers = first.exchanges().map(({ body }) => new URLSearchParams(body).get('code_verifier')!)
  const challenges = verifiers.map((verifier) => createHash('sha256').update(verifier).digest('base64url'))
  expect(challenges).toEqual([begun[1].query.code_challenge, begun[0].query.code_challenge])
})

test('two tabs with the same address, one of which was duplicated, exchange the code once', async () => {
  const held = later()
  const service = await startService(async () => {
    await held.promise
    return tokensOf(1)
  })
  const { platform, auth, back, exchanges } = await begin({ returnTo: '/notes' }, Promise.resolve(buildTab(service)))
  const other = buildTab(service, buildPlatform({ localStorage: platform.localStorage }))
  const both = [auth.handleRedirect(back({ code: 'c-1' })), other.auth.handleRedirect(back({ code: 'c-1' }))]
  await expect.poll(() => exchanges().length).toBe(1)
  held.resolve()
  expect(await Promise.all(both)).toEqual([{ returnTo: '/notes' }, { returnTo: '/notes' }])
  expect(exchanges().length).toBe(1)
  expect([auth.state.status, other.auth.state.status]).toEqual(['signed_in', 'signed_in'])
})

test('an exchange that found no service keeps its address and can be made again; one that was refused cannot', async () => {
  const refused = {
    status: 400,
    body: { error: 'invalid_grant', error_description: 'Too late', code: 'invalid_grant', request_id: 'r-1' },
  }
  const service = await startService((_, count) => (count === 1 ? 'cut' : refused))
  const { auth, platform, back, exchanges } = await begin({}, Promise.resolve(buildTab(service)))
  platform.visit(back({ code: 'c-1' }))
  expect(await errorOf(auth.handleRedirect())).toMatchObject({ code: 'service_unreachable', retryable: true })
  expect(platform.location!.href).toBe(back({ code: 'c-1' }))
  expect(await errorOf(auth.handleRedirect())).toMatchObject({ code: 'invalid_grant', message: 'Too late', requestId: 'r-1' })
  expect(platform.location!.href).toBe('https://app.example/callback')
  expect(await codeOf(auth.handleRedirect(back({ code: 'c-1' })))).toBe('invalid_grant')
  expect(exchanges().length).toBe(2)
})

test('what was begun more than a day ago is refused, and forgotten when another sign-in begins', async () => {
  const { auth, platform, service, back } = await begin()
  const stored = () => [...(platform.localStorage as unknown as { items: Map<string, string> }).items.keys()]
  platform.advance(23 * 3600)
  await auth.signIn()
  expect(stored().length).toBe(2)
  platform.advance(2 * 3600)
  expect(await codeOf(auth.handleRedirect(back({ code: 'c-1' })))).toBe('sign_in_mismatch')
  await buildTab(service, platform).auth.signIn()
  expect(stored().length).toBe(2)
  expect(stored()).not.toContainEqual(expect.stringContaining(new URL(platform.assigned[0]!).searchParams.get('state')!))
})

test.each(['memory', 'full'] as const)('with %s storage the tab itself keeps what it has begun', async (kind) => {
  const platform = buildPlatform()
  if (kind === 'full') Object.assign(platform.localStorage!, { isFull: true })
  const options = kind === 'memory' ? { storage: kind } : {}
  const service = await startService()
  const { back } = await begin({ returnTo: '/notes' }, Promise.resolve(buildTab(service, platform, options)))
  expect(platform.localStorage).toMatchObject({ items: new Map() })
  const { auth } = buildTab(service, platform, options)
  expect(await auth.handleRedirect(back({ code: 'c-1' }))).toEqual({ returnTo: '/notes' })
  expect(auth.state.status).toBe('signed_in')
})

test('a service without a sign-in page is named as such; one that is away can be tried again', async () => {
  for (const [answer, code] of [
    [() => refusal(404, 'not_found'), 'sign_in_unavailable'],
    [() => ({ status: 404, body: '<h1>Not found</h1>' }), 'sign_in_unavailable'],
    [() => 'cut', 'service_unreachable'],
    [() => refusal(503, 'unavailable'), 'unavailable'],
    [() => ({ status: 200, body: { authorization_endpoint: 'javascript:alert(1)' } }), 'service_unreachable'],
  ] as [Answering, string][]) {
    const { auth, platform } = buildTab(await startPeer(answer))
    expect(await codeOf(auth.signIn())).toBe(code)
    expect(platform.assigned).toEqual([])
  }
})

test('signOut ends the session here; with browser, it also leads to the service and back to the path that was asked for', async () => {
  const { auth, platform, service, back } = await begin()
  await auth.handleRedirect(back({ code: 'c-1' }))
  await auth.signOut()
  expect([auth.state, platform.assigned.length]).toEqual([{ status: 'signed_out', reason: 'logout' }, 1])

  await begin({}, Promise.resolve({ ...buildTab(service, platform), auth }))
  await auth.signOut({ browser: true, returnTo: '/bye' })
  expect(auth.state.status).toBe('signed_out')
  const left = new URL(platform.assigned.at(-1)!)
  expect(left.origin + left.pathname).toBe(metadata.end_session_endpoint)
  const { state, ...query } = Object.fromEntries(left.searchParams)
  expect(query).toEqual({ client_id: 'notes', post_logout_redirect_uri: 'https://app.example/callback' })
  platform.visit(`https://app.example/callback?state=${state}`)
  expect(await buildTab(service, platform).auth.handleRedirect()).toEqual({ returnTo: '/bye' })
  expect(platform.location!.href).toBe('https://app.example/callback')
})

test('a page that signs in as soon as nobody is signed in does not undo a sign-out of the browser', async () => {
  const { auth, platform, back } = await begin()
  await auth.handleRedirect(back({ code: 'c-1' }))
  const signIns: Promise<void>[] = []
  auth.subscribe(({ status }) => {
    if (status === 'signed_out') signIns.push(auth.signIn())
  })
  await auth.signOut({ browser: true })
  await Promise.all(signIns)
  expect(signIns.length).toBe(1)
  expect(platform.assigned.at(-1)).toMatch(metadata.end_session_endpoint)
  // The user goes back, and the browser shows the page as it was.
  platform.fire('pageshow')
  await auth.signIn()
  expect(platform.assigned.at(-1)).toMatch(metadata.authorization_endpoint)
})

test('signOut with browser signs out here even if the service cannot be reached, and stays on the page', async () => {
  const { auth, platform, service, back } = await begin()
  await auth.handleRedirect(back({ code: 'c-1' }))
  service.answer = () => 'cut'
  expect(await codeOf(auth.signOut({ browser: true }))).toBe('service_unreachable')
  expect([auth.state.status, platform.assigned.length]).toEqual(['signed_out', 1])
})

test('on a server that renders pages, signIn says what is missing', async () => {
  const platform = { ...buildPlatform(), location: undefined }
  const service = await startService()
  const auth = buildAuth(platform, { authUrl: service.url, appCode: 'notes' })
  expect(await codeOf(auth.signIn())).toBe('config_invalid')
  expect(await auth.handleRedirect()).toBeUndefined()
})

describe('a fresh proof', () => {
  const challenge = 'Bearer realm="gatehouse", error="insufficient_user_authentication", max_age="300", acr_values="mfa"'
  const asking = (header = challenge, status = 401) => new Response('{}', { status, headers: { 'www-authenticate': header } })
  const other = { ...USER, id: 'u-2', email: 'eve@example.com' }

  /** A tab whose user is signed in, and has left for a fresh proof. */
  async function leave(exchange?: Answering) {
    const service = await startService((request, count) => (count > 1 && exchange ? exchange(request, count) : tokensOf(count)))
    const tab = buildTab(service)
    const first = await begin({}, Promise.resolve(tab))
    await tab.auth.handleRedirect(first.back({ code: 'c-1' }))
    expect(await tab.auth.stepUp(asking(), { returnTo: '/transfers?to=7' })).toBe(true)
    const asked = new URL(tab.platform.assigned.at(-1)!)
    const query = Object.fromEntries(asked.searchParams)
    const back = (answer: Record<string, string>) =>
      `${query.redirect_uri}?${new URLSearchParams({ ...answer, state: query.state!, iss: metadata.issuer })}`
    const ended = () => service.seen.filter(({ path }) => path === '/auth/logout').map(({ body }) => body.refresh_token)
    return { ...tab, query, back, ended }
  }

  test('the user is sent for what the challenge asks for, and the new session replaces the one before it', async () => {
    const { auth, query, back, ended } = await leave()
    expect(query).toMatchObject({ max_age: '300', acr_values: 'mfa', login_hint: USER.email, client_id: 'notes' })
    expect(await auth.handleRedirect(back({ code: 'c-2' }))).toEqual({ returnTo: '/transfers?to=7' })
    expect(await auth.getAccessToken()).toBe('access-2')
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-1'])
  })

  test('another user who comes back does not become signed in, and their session ends', async () => {
    const { auth, back, ended } = await leave((_, count) => tokensOf(count, { user: other, device_token: 'device-2' }))
    const before = auth.state
    expect(await codeOf(auth.handleRedirect(back({ code: 'c-2' })))).toBe('user_mismatch')
    expect(auth.state).toBe(before)
    expect(await auth.getAccessToken()).toBe('access-1')
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-2'])
  })

  test('nor does the one who was asked, if somebody else has signed in meanwhile', async () => {
    const { auth, service, platform, back, ended } = await leave()
    const second = buildTab(service, buildPlatform({ localStorage: platform.localStorage }))
    service.answer = (request, count) =>
      request.path === '/auth/login' ? tokensOf(9, { user: other }) : firstAnswer(request, count)
    const firstAnswer: Answering = ({ path }) => (path === '/oauth/token' ? tokensOf(2) : { status: 204 })
    await second.auth.login({ email: other.email, password: 'p' })
    expect(await codeOf(auth.handleRedirect(back({ code: 'c-2' })))).toBe('user_mismatch')
    expect(auth.state).toMatchObject({ user: { id: 'u-2' } })
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-1', 'refresh-2'])
  })

  test('the session of before goes on if the user cancels, or the service cannot do what is asked', async () => {
    for (const error of ['access_denied', 'unmet_authentication_requirements']) {
      const { auth, back, ended } = await leave()
      expect(await codeOf(auth.handleRedirect(back({ error })))).toBe(error)
      expect([await auth.getAccessToken(), ended()]).toEqual(['access-1', []])
    }
  })

  test('a session that has ended meanwhile is replaced by that of the same user', async () => {
    const { auth, back } = await leave()
    await auth.logout()
    await auth.handleRedirect(back({ code: 'c-2' }))
    expect(auth.state).toMatchObject({ status: 'signed_in', user: { id: 'u-1' } })
  })

  test('the session of an organization goes on for it, and the page is the way back unless another is named', async () => {
    const organization = { id: 'o-1', slug: 'acme', name: 'Acme', role_codes: [] }
    const service = await startService((_, count) => tokensOf(count, { organization }))
    const { auth, platform, back } = await begin({}, Promise.resolve(buildTab(service)))
    await auth.handleRedirect(back({ code: 'c-1' }))
    await auth.stepUp(asking())
    const { searchParams } = new URL(platform.assigned.at(-1)!)
    expect(searchParams.get('organization_id')).toBe('o-1')
  })

  test('with nobody signed in, the user who comes back signs in', async () => {
    const { auth, platform, service } = await begin()
    await auth.stepUp(asking())
    const { searchParams } = new URL(platform.assigned.at(-1)!)
    expect([searchParams.get('max_age'), searchParams.has('login_hint')]).toEqual(['300', false])
    service.answer = () => tokensOf(1, { user: other })
    const answer = { code: 'c-1', state: searchParams.get('state')!, iss: metadata.issuer }
    await auth.handleRedirect(`https://app.example/callback?${new URLSearchParams(answer)}`)
    expect(auth.state).toMatchObject({ user: { id: 'u-2' } })
  })

  test.each([
    [challenge, { max_age: '300', acr_values: 'mfa' }],
    ['Bearer error=insufficient_user_authentication, max_age=60', { max_age: '60' }],
    ['Basic realm="a, b", Bearer acr_values="mfa other",error="insufficient_user_authentication"', { acr_values: 'mfa other' }],
    [
      'Bearer error="insufficient_user_authentication", error_description="not max_age=\\"9\\", but", max_age="5"',
      { max_age: '5' },
    ],
    ['Bearer error="insufficient_user_authentication"', {}],
  ])('the challenge %s is read', async (header, expected) => {
    const { auth, platform } = await begin()
    expect(await auth.stepUp(asking(header))).toBe(true)
    const { max_age, acr_values } = Object.fromEntries(new URL(platform.assigned.at(-1)!).searchParams)
    expect({ max_age, acr_values }).toEqual({ max_age: undefined, acr_values: undefined, ...expected })
  })

  test('a response without the challenge leads nowhere', async () => {
    const { auth, platform } = await begin()
    const responses = [
      asking(challenge, 200),
      asking('Bearer error="invalid_token"'),
      asking('Bearer error="invalid_token", error_description="error=insufficient_user_authentication"'),
      asking('Bearer realm="insufficient_user_authentication"'),
      new Response('<h1>Sign in</h1>', { status: 401 }),
      Response.json({ code: 'token_expired' }, { status: 401 }),
      new Response(null, { status: 401 }),
    ]
    for (const response of responses) expect(await auth.stepUp(response)).toBe(false)
    expect(platform.assigned.length).toBe(1)
  })

  test('a long header of nothing is read in no time', async () => {
    const { auth } = await begin()
    const began = performance.now()
    for (const piece of ['a', 'a-', 'a= ', 'a="', '\\"', 'a ']) await auth.stepUp(asking(piece.repeat(8_000)))
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test('an API that hides its challenge from the page is named as such, and its answer can still be read', async () => {
    const { auth } = await begin()
    const hidden = Response.json({ code: 'insufficient_user_authentication' }, { status: 401 })
    expect(await errorOf(auth.stepUp(hidden))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('Access-Control-Expose-Headers: WWW-Authenticate'),
    })
    expect(await hidden.json()).toMatchObject({ code: 'insufficient_user_authentication' })
    expect(await auth.stepUp(hidden)).toBe(false)
  })

  test('fetch does not renew the token for it, nor ask again', async () => {
    const api = await startPeer(() => ({ status: 401, body: {}, headers: { 'www-authenticate': challenge } }))
    const service = await startService()
    const tab = buildTab(service, buildPlatform(), { apiOrigins: [api.url] })
    const { auth, back } = await begin({}, Promise.resolve(tab))
    await auth.handleRedirect(back({ code: 'c-1' }))
    const response = await auth.fetch(`${api.url}/transfers`, { method: 'POST', body: '{}' })
    expect([response.status, api.seen.length]).toEqual([401, 1])
    expect(service.seen.filter(({ path }) => path === '/auth/refresh')).toEqual([])
    expect(await auth.stepUp(response)).toBe(true)
  })
})
