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

test('signIn leads to the sign-in page with the app, the redirect URL, a challenge and a new state', async () => {
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

test('each option of signIn becomes the parameter of its name', async () => {
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

test('handleRedirect signs the user in with the right verifier and cleans the address', async () => {
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

test('the default returnTo is the page that called signIn, or / on the page of the redirect URL', async () => {
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
])('returnTo %j is refused because it is not a path of this origin', async (returnTo) => {
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

test('handleRedirect returns undefined for an address without an answer, and sends nothing', async () => {
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

test('sso.finish ignores an answer of the sign-in page', async () => {
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
])('handleRedirect throws the error %s with its text and exchanges nothing', async (error, error_description) => {
  const { auth, platform, back, exchanges } = await begin()
  platform.visit(back({ error, error_description, code: 'c-1' }))
  const thrown = await errorOf(auth.handleRedirect())
  expect(thrown).toMatchObject({ code: error, message: error_description, retryable: false })
  expect(platform.location!.href).toBe('https://app.example/callback')
  expect([auth.state.status, exchanges()]).toEqual(['signed_out', []])
})

test('a user can go back to the sign-in page after an error and complete the same sign-in', async () => {
  const { auth, platform, service, back } = await begin()
  expect(await codeOf(auth.handleRedirect(back({ error: 'access_denied' })))).toBe('access_denied')
  const reloaded = buildTab(service, platform)
  expect(await reloaded.auth.handleRedirect(back({ code: 'c-2' }))).toEqual({ returnTo: expect.any(String) })
})

test('a repeated call, a reload and going back to the page exchange the code only once', async () => {
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

test('two tabs that begin at once complete both sign-ins, even in reverse order and in one tab', async () => {
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

test('a tab and its duplicate exchange the code once', async () => {
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

test('an exchange that the service did not answer can be repeated, and a refused one cannot', async () => {
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

test('a sign-in that began more than a day ago is refused, and the next sign-in removes its state', async () => {
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

test.each(['memory', 'full'] as const)('a sign-in with %s storage is kept in the tab itself', async (kind) => {
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

test('signIn distinguishes a service without a sign-in page from one that cannot be reached', async () => {
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

test('signOut ends the session here, and with browser it also visits the service and returns to the given path', async () => {
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

test('a page that signs in whenever it is signed out does not undo a sign-out of the browser', async () => {
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

test('signOut with browser signs out here and stays on the page if the service cannot be reached', async () => {
  const { auth, platform, service, back } = await begin()
  await auth.handleRedirect(back({ code: 'c-1' }))
  service.answer = () => 'cut'
  expect(await codeOf(auth.signOut({ browser: true }))).toBe('service_unreachable')
  expect([auth.state.status, platform.assigned.length]).toEqual(['signed_out', 1])
})

test('signIn on a server that renders pages throws config_invalid', async () => {
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

  test('stepUp asks for what the challenge names, and the new session replaces the old one', async () => {
    const { auth, query, back, ended } = await leave()
    expect(query).toMatchObject({ max_age: '300', acr_values: 'mfa', login_hint: USER.email, client_id: 'notes' })
    expect(await auth.handleRedirect(back({ code: 'c-2' }))).toEqual({ returnTo: '/transfers?to=7' })
    expect(await auth.getAccessToken()).toBe('access-2')
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-1'])
  })

  test('stepUp refuses another user who comes back, and ends their session', async () => {
    const { auth, back, ended } = await leave((_, count) => tokensOf(count, { user: other, device_token: 'device-2' }))
    const before = auth.state
    expect(await codeOf(auth.handleRedirect(back({ code: 'c-2' })))).toBe('user_mismatch')
    expect(auth.state).toBe(before)
    expect(await auth.getAccessToken()).toBe('access-1')
    await expect.poll(ended, { interval: 10 }).toEqual(['refresh-2'])
  })

  test('stepUp refuses the user who was asked if somebody else has signed in meanwhile', async () => {
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

  test('the old session goes on if the user cancels or the service cannot provide the proof', async () => {
    for (const error of ['access_denied', 'unmet_authentication_requirements']) {
      const { auth, back, ended } = await leave()
      expect(await codeOf(auth.handleRedirect(back({ error })))).toBe(error)
      expect([await auth.getAccessToken(), ended()]).toEqual(['access-1', []])
    }
  })

  test('a session that ended meanwhile is replaced by a new one of the same user', async () => {
    const { auth, back } = await leave()
    await auth.logout()
    await auth.handleRedirect(back({ code: 'c-2' }))
    expect(auth.state).toMatchObject({ status: 'signed_in', user: { id: 'u-1' } })
  })

  test('stepUp in a session for an organization asks for the same organization', async () => {
    const organization = { id: 'o-1', slug: 'acme', name: 'Acme', role_codes: [] }
    const service = await startService((_, count) => tokensOf(count, { organization }))
    const { auth, platform, back } = await begin({}, Promise.resolve(buildTab(service)))
    await auth.handleRedirect(back({ code: 'c-1' }))
    await auth.stepUp(asking())
    const { searchParams } = new URL(platform.assigned.at(-1)!)
    expect(searchParams.get('organization_id')).toBe('o-1')
  })

  test('stepUp without a session signs in the user who comes back', async () => {
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
  ])('stepUp reads the challenge %s', async (header, expected) => {
    const { auth, platform } = await begin()
    expect(await auth.stepUp(asking(header))).toBe(true)
    const { max_age, acr_values } = Object.fromEntries(new URL(platform.assigned.at(-1)!).searchParams)
    expect({ max_age, acr_values }).toEqual({ max_age: undefined, acr_values: undefined, ...expected })
  })

  test('stepUp does nothing for a response without the challenge', async () => {
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

  test('stepUp reads a long meaningless header in less than a second', async () => {
    const { auth } = await begin()
    const began = performance.now()
    for (const piece of ['a', 'a-', 'a= ', 'a="', '\\"', 'a ']) await auth.stepUp(asking(piece.repeat(8_000)))
    expect(performance.now() - began).toBeLessThan(1_000)
  })

  test('stepUp reports an API that hides its challenge from the page, and leaves the answer readable', async () => {
    const { auth } = await begin()
    const hidden = Response.json({ code: 'insufficient_user_authentication' }, { status: 401 })
    expect(await errorOf(auth.stepUp(hidden))).toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('Access-Control-Expose-Headers: WWW-Authenticate'),
    })
    expect(await hidden.json()).toMatchObject({ code: 'insufficient_user_authentication' })
    expect(await auth.stepUp(hidden)).toBe(false)
  })

  test('fetch does not renew the token or repeat a request that needs a fresh proof', async () => {
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
