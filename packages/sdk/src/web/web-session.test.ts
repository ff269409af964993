import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { assertFreshProof, createAuth, definePermissions } from '../index.ts'
import { createTestAuth, type TestEnvironment } from '../testing/index.ts'
import { createWebSession, getAuth, type WebSession, type WebSessionOptions } from './index.ts'
import { SESSION, SealedCookies } from './sealed-cookies.ts'
import { type App, type Browser, form, navigation, openBrowser, script, watchTokenCalls } from './test-browser.ts'

const ORIGIN = 'https://notes.example'
const cookieSecret = 'a secret for cookies, of 32 characters or more'
const permissions = definePermissions('notes', { 'notes:delete': 'Delete notes' })

function build(options: WebSessionOptions = {}) {
  const gate = createTestAuth({ appCode: 'notes', permissions })
  onTestFinished(() => gate.close())
  const session = createWebSession(gate.auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret, ...options })
  return { gate, session, app: appOf(session), browser: openBrowser(appOf(session), ORIGIN) }
}

/** An app with an open page, a guarded one, and a guarded call. */
function appOf(session: WebSession<'notes:delete'>): App {
  const shown = (request: Request) => new Response(getAuth<string, undefined>(request)?.claims.email ?? 'nobody')
  const guarded = session.requireSession()(async (request) => {
    if (request.method === 'DELETE') getAuth<'notes:delete'>(request).assert('notes:delete')
    return new Response(getAuth(request).claims.email, { headers: { 'cache-control': 'public, max-age=3600' } })
  })
  const clerks = session.requireSession({ permissions: ['notes:delete'] })(async () => new Response('deleted'))
  return (request) =>
    session.handle(request, (request) => {
      const { pathname } = new URL(request.url)
      return pathname === '/' ? shown(request) : (pathname === '/clerks' ? clerks : guarded)(request, undefined)
    })
}

const EMAIL = 'test.user@example.com'
const cookieOf = ({ jar }: Browser) => [...jar].map((pair) => pair.join('=')).join('; ')
const signIn = (browser: Browser) => browser.follow('/login')
const locationOf = (response: Response) => new URL(response.headers.get('location')!, ORIGIN)
const sessionParts = ({ jar }: Browser) => [...jar.keys()].filter((name) => name.includes('_session'))
const loginParts = ({ jar }: Browser) => [...jar.keys()].filter((name) => name.includes('_login'))
/** Opens the answer of the sign-in page that a browser was sent to. */
async function answerOf(start: Response): Promise<string> {
  const page = await fetch(locationOf(start), { redirect: 'manual' })
  const { pathname, search } = locationOf(page)
  return pathname + search
}

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

describe('signing in', () => {
  test('a browser that opens a guarded page is sent to sign in and comes back to that page', async () => {
    const { browser } = build()
    const refused = await browser.open('/notes?page=2')
    expect([refused.status, refused.headers.get('location')]).toEqual([303, `${ORIGIN}/login?returnTo=%2Fnotes%3Fpage%3D2`])
    const start = await browser.open(refused.headers.get('location')!)
    const asked = locationOf(start).searchParams
    expect(asked.get('code_challenge_method')).toBe('S256')
    expect([asked.get('client_id'), asked.get('redirect_uri')]).toEqual(['notes', `${ORIGIN}/callback`])
    const back = await browser.open(await answerOf(start))
    expect([back.status, back.headers.get('location')]).toEqual([303, `${ORIGIN}/notes?page=2`])
    expect(await (await browser.open('/notes?page=2')).text()).toBe(EMAIL)
    expect(loginParts(browser)).toEqual([])
  })

  test('a script gets 401 with a challenge, and a page in a frame is not redirected', async () => {
    const { browser } = build()
    const refused = await browser.call('/notes')
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="gatehouse"'])
    const told = { status: 401, code: 'token_missing', title: 'Nobody is signed in', detail: 'Sign in at /login, in a browser.' }
    expect(await refused.json()).toMatchObject(told)
    expect((await browser.open('/notes', { 'sec-fetch-dest': 'iframe' })).status).toBe(401)
    // A browser that sends no such headers says by `Accept` that it wants a page.
    const { app } = build()
    const old = (accept: string) => app(new Request(`${ORIGIN}/notes`, { headers: { accept } }))
    expect([(await old('text/html,*/*')).status, (await old('application/json')).status]).toEqual([303, 401])
  })

  test('the answer to a script with a bearer token says that the session is in a cookie', async () => {
    const { browser, gate } = build()
    const refused = await browser.call('/notes', { headers: { ...gate.bearer() } })
    expect(refused.status).toBe(401)
    const { title, detail } = (await refused.json()) as Record<string, string>
    expect([title, detail]).toEqual([
      'Nobody is signed in',
      'Sign in at /login, in a browser. The session is in a cookie: the header Authorization is not read here.',
    ])
  })

  test.each([
    ['a script', { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', accept: '*/*' }],
    ['a script that sends no such headers, in the router of Next.js', { rsc: '1', 'sec-fetch-mode': '' }],
    ['a prefetch', { 'sec-purpose': 'prefetch;prerender' }],
    ['a prefetch of an older browser', { purpose: 'prefetch' }],
  ])('%s begins no sign-in at a guarded page or at /login', async (_, headers) => {
    const { browser } = build()
    for (const path of ['/notes', '/login?returnTo=/notes']) {
      const refused = await browser.open(path, headers as Record<string, string>)
      expect([path, refused.status, refused.headers.get('location')]).toEqual([path, 401, null])
    }
    expect(browser.jar.size).toBe(0)
    // The user then follows the link.
    expect(await (await browser.follow('/notes')).text()).toBe(EMAIL)
  })

  test('a guard redirects to the origin of the redirect URL, because cookies of another address do not count', async () => {
    const { app } = build()
    const refused = await app(new Request('http://127.0.0.1:3000/notes', { headers: navigation }))
    expect(refused.headers.get('location')).toBe(`${ORIGIN}/login?returnTo=%2Fnotes`)
    const elsewhere = openBrowser((request) => app(request), 'http://127.0.0.1:3000')
    const answer = await answerOf(await elsewhere.open('/login'))
    const page = await (await app(new Request(ORIGIN + answer, { headers: navigation }))).text()
    expect(page).toContain(`If you opened this app at another address, open it at <a href="${ORIGIN}/">${ORIGIN}</a>`)
  })

  test('tokens are only in encrypted cookies that no script can read', async () => {
    const { browser, session } = build()
    await signIn(browser)
    const page = await browser.open('/')
    const { accessToken } = await session.getSession(new Headers({ cookie: cookieOf(browser) }))
    expect(accessToken!.split('.').length).toBe(3)
    expect(JSON.stringify([...browser.jar, ...browser.received, await page.text()])).not.toContain(accessToken!.slice(0, 20))
    for (const line of browser.received) {
      expect(line).toMatch(
        /^__Host-gatehouse_notes_(session|login\.\w{8}[\w-]+)\.0=[^;]*; Path=\/; HttpOnly; SameSite=Lax; Secure/,
      )
      expect(line).not.toContain('Domain')
    }
  })

  test('cookies without https, as on localhost, have no prefix and are not Secure', async () => {
    const { browser } = build({ redirectUrl: 'http://localhost:3000/auth/callback' })
    const start = await browser.open('/auth/login')
    expect(locationOf(start).searchParams.get('redirect_uri')).toBe('http://localhost:3000/auth/callback')
    expect(browser.received[0]).toMatch(
      /^gatehouse_notes_login\.[\w-]+\.0=[^;]*; Path=\/; HttpOnly; SameSite=Lax; Max-Age=86400$/,
    )
  })

  test('/login passes its parameters on to the sign-in page', async () => {
    const { browser } = build()
    const start = await browser.open(
      '/login?prompt=create&provider=google&method=passkey&organizationId=o-1&maxAgeSec=60&state=mine',
    )
    const given = Object.fromEntries(locationOf(start).searchParams)
    expect(given).toMatchObject({
      prompt: 'create',
      provider: 'google',
      method: 'passkey',
      organization_id: 'o-1',
      max_age: '60',
    })
    expect(given.state).not.toBe('mine')
  })

  test('a user who cancels gets a page that says so and can try again', async () => {
    const { browser, gate } = build()
    gate.service.signInAs(null)
    const page = await signIn(browser)
    expect(page.status).toBe(400)
    expect(await page.text()).toContain('(access_denied). <a href="/login">Try again</a>')
    gate.service.signInAs(gate.user)
    await signIn(browser)
    expect(await (await browser.open('/notes')).text()).toBe(EMAIL)
  })

  test('sign-ins in two tabs each end at their own page, and at most five are kept', async () => {
    const { browser, gate } = build()
    const starts: Response[] = []
    for (let tab = 0; tab < 7; tab += 1) {
      starts.push(await browser.open(`/login?returnTo=/tab/${tab}`))
      gate.advance(1)
    }
    expect(loginParts(browser).length).toBe(5)
    const ends = await Promise.all(starts.slice(-2).map(async (start) => browser.open(await answerOf(start))))
    expect(ends.map((end) => end.headers.get('location'))).toEqual([`${ORIGIN}/tab/5`, `${ORIGIN}/tab/6`])
    expect((await browser.open(await answerOf(starts[0]!))).status).toBe(303)
    browser.jar.clear()
    expect((await browser.open(await answerOf(starts[0]!))).status).toBe(400)
  })

  test('an answer that is sent twice, or again later, is exchanged once and leaves the session alive', async () => {
    const calls = watchTokenCalls()
    const { browser, gate } = build()
    const answer = await answerOf(await browser.open('/login?returnTo=/notes'))
    const login = new Map(browser.jar)
    const both = await Promise.all([browser.open(answer), browser.open(answer)])
    expect(both.map((each) => each.headers.get('location'))).toEqual([`${ORIGIN}/notes`, `${ORIGIN}/notes`])
    // The cookies of the first answers were lost, as when the user reloads.
    browser.jar.clear()
    for (const [name, value] of login) browser.jar.set(name, value)
    expect((await browser.open(answer)).headers.get('location')).toBe(`${ORIGIN}/notes`)
    expect((await browser.open(answer)).headers.get('location')).toBe(`${ORIGIN}/`)
    expect(calls).toEqual(['authorization_code'])
    gate.advance(1000)
    expect(await (await browser.open('/notes')).text()).toBe(EMAIL)
  })

  test('a second user in the same browser replaces the first, whose session ends', async () => {
    const { browser, gate } = build()
    await signIn(browser)
    const first = new Map(browser.jar)
    gate.service.signInAs(gate.addUser({ email: 'ada@example.com' }))
    await signIn(browser)
    expect(await (await browser.open('/notes')).text()).toBe('ada@example.com')
    const other = openBrowser(appOf(createWebSession(gate.auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret })), ORIGIN)
    for (const [name, value] of first) other.jar.set(name, value)
    gate.advance(1000)
    expect((await other.call('/notes')).status).toBe(401)
  })

  test('a sign-in during an outage is answered 503, and the same answer works later', async () => {
    const { browser, gate } = build()
    const answer = await answerOf(await browser.open('/login'))
    await gate.service.down()
    for (const path of ['/callback', '/login']) {
      const page = await browser.open(path === '/callback' ? answer : path)
      expect([page.status, page.headers.get('retry-after')]).toEqual([
        path === '/callback' ? 503 : 303,
        path === '/callback' ? '1' : null,
      ])
    }
    await gate.service.up()
    expect((await browser.open(answer)).status).toBe(303)
    expect(await (await browser.open('/notes')).text()).toBe(EMAIL)
  })
})

describe('a fresh proof', () => {
  function buildBank() {
    const built = build()
    const { session } = built
    const transfers = session.requireSession({ maxAgeSec: 300, amr: 'mfa' })(async (request) => {
      const { uid, org_id = 'none' } = getAuth(request).claims
      return new Response(`${uid} ${org_id}`)
    })
    const limits = session.requireSession()(async (request) => {
      assertFreshProof(built.gate.auth, getAuth(request), { maxAgeSec: 60 })
      return new Response('limits')
    })
    const app: App = (request) =>
      session.handle(request, (request) => {
        const { pathname } = new URL(request.url)
        return pathname === '/' ? new Response('home') : (pathname === '/limits' ? limits : transfers)(request, undefined)
      })
    return { ...built, browser: openBrowser(app, ORIGIN) }
  }
  /** Follows redirects of the app to the sign-in page. Returns what it is asked for. */
  async function askedOf(browser: Browser, path: string) {
    const start = await browser.open((await browser.open(path)).headers.get('location')!)
    return { start, asked: Object.fromEntries(locationOf(start).searchParams) }
  }

  test('a browser is sent for the proof as the same user, and the earlier session ends', async () => {
    const { browser, gate } = buildBank()
    await signIn(browser)
    const before = new Map(browser.jar)
    const { asked, start } = await askedOf(browser, '/transfers?to=7')
    expect(asked).toMatchObject({ max_age: '300', acr_values: 'mfa', login_hint: EMAIL, client_id: 'notes' })
    const back = await browser.open(await answerOf(start))
    expect([back.status, back.headers.get('location')]).toEqual([303, `${ORIGIN}/transfers?to=7`])
    expect(await (await browser.open('/transfers')).text()).toBe(`${gate.userId} none`)
    const other = openBrowser(appOf(createWebSession(gate.auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret })), ORIGIN)
    for (const [name, value] of before) other.jar.set(name, value)
    gate.advance(1000)
    expect((await other.call('/notes')).status).toBe(401)
  })

  test('ten renewals in a row do not make the proof fresher', async () => {
    const { browser, gate, session } = buildBank()
    await browser.follow('/transfers')
    const proofs = new Set<unknown>()
    for (let renewals = 0; renewals < 10; renewals += 1) {
      gate.advance(880)
      expect((await browser.open('/limits')).headers.getSetCookie().length).toBe(1)
      const { principal } = await session.getSession(new Headers({ cookie: cookieOf(browser) }))
      proofs.add(principal!.claims.auth_time)
    }
    expect(proofs.size).toBe(1)
    expect((await browser.call('/transfers')).status).toBe(401)
  })

  test('another user who comes back is not signed in, and the new session ends', async () => {
    const fetched = vi.spyOn(globalThis, 'fetch')
    const { browser, gate } = buildBank()
    await signIn(browser)
    const { start } = await askedOf(browser, '/transfers')
    gate.service.signInAs(gate.addUser({ email: 'eve@example.com' }))
    const page = await browser.open(await answerOf(start))
    expect([page.status, await page.text()]).toEqual([400, expect.stringContaining('Somebody else has signed in')])
    expect(page.headers.getSetCookie()).toEqual([])
    expect(await (await browser.open('/limits')).text()).toBe('limits')
    expect((await browser.call('/transfers')).status).toBe(401)
    const ended = fetched.mock.calls.filter(([url]) => String(url).endsWith('/oauth/revoke'))
    expect(ended.length).toBe(1)
  })

  test('the user who was asked is refused if somebody else has signed in meanwhile', async () => {
    const { browser, gate } = buildBank()
    await signIn(browser)
    const { start } = await askedOf(browser, '/transfers')
    const answer = await answerOf(start)
    gate.service.signInAs(gate.addUser({ email: 'eve@example.com', two_factor_code: '123456' }))
    await signIn(browser)
    expect((await browser.open(answer)).status).toBe(400)
    expect(await (await browser.open('/transfers')).text()).not.toContain(gate.userId)
  })

  test('a fresh proof in a session for an organization asks for the same organization', async () => {
    const { browser, gate } = buildBank()
    const access = gate.token({ org_id: 'o-1', org_slug: 'acme' })
    const tokens = { access, refresh: 'grt_1', renewAt: gate.now() + 600_000 }
    const [line] = await new SealedCookies([cookieSecret], 'notes', true).set(SESSION, tokens, new Map())
    const [, name, value] = /^([^=]*)=([^;]*)/.exec(line!)!
    browser.jar.set(name!, value!)
    const { asked } = await askedOf(browser, '/transfers')
    expect(asked).toMatchObject({ organization_id: 'o-1', acr_values: 'mfa' })
  })

  test('a handler can ask for a fresh proof too, and a form leads back to its page', async () => {
    const { browser, gate } = buildBank()
    await signIn(browser)
    gate.advance(90)
    expect((await browser.open('/limits')).headers.get('location')).toBe(`${ORIGIN}/login?returnTo=%2Flimits&maxAgeSec=60`)
    const form = await browser.send('/limits', { referer: `${ORIGIN}/form?a=1` })
    expect(form.headers.get('location')).toBe(`${ORIGIN}/login?returnTo=%2Fform%3Fa%3D1&maxAgeSec=60`)
    const told = await browser.call('/limits')
    expect(await told.json()).toMatchObject({
      code: 'insufficient_user_authentication',
      detail: 'Sign in at /login?maxAgeSec=60, in a browser.',
    })
  })
})

test('the log names the reason and the address while the service does not answer', async () => {
  const gate = createTestAuth({ appCode: 'notes' })
  const lines: string[] = []
  const auth = createAuth({ ...settingsOf(gate.env), logger: { warn: (line) => void lines.push(line) } })
  onTestFinished(() => auth.close())
  await gate.close()
  const session = createWebSession(auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret })
  expect((await session.handle(new Request(`${ORIGIN}/login`, { headers: navigation })))?.status).toBe(503)
  expect(lines.join()).toContain(
    `cannot sign in now: no answer (ECONNREFUSED) from ${gate.env.SERVICE_AUTH_URL} (SERVICE_AUTH_URL)`,
  )
})

describe('attacks on the session', () => {
  test('an answer signs in only the browser that asked for it', async () => {
    const { browser, app } = build()
    const answer = await answerOf(await browser.open('/login'))
    const victim = openBrowser(app, ORIGIN)
    await victim.open('/login')
    const page = await victim.open(answer)
    expect(page.status).toBe(400)
    expect(await page.text()).toContain('(sign_in_mismatch)')
    expect(sessionParts(victim)).toEqual([])
  })

  test('an answer of another issuer, or without one, is refused', async () => {
    const { browser } = build()
    const answer = await answerOf(await browser.open('/login'))
    const url = new URL(answer, ORIGIN)
    for (const change of [() => url.searchParams.delete('iss'), () => url.searchParams.set('iss', 'https://evil.example')]) {
      change()
      expect(await (await browser.open(url.pathname + url.search)).text()).toContain('sign_in_mismatch')
    }
    expect(sessionParts(browser)).toEqual([])
  })

  test('a sign-in that began under one state does not end under another, though the browser holds both', async () => {
    const { browser } = build()
    const [first, second] = [await browser.open('/login?returnTo=/a'), await browser.open('/login?returnTo=/b')]
    const [stateA, stateB] = [first, second].map((start) => locationOf(start).searchParams.get('state')!)
    const [nameA, nameB] = [stateA, stateB].map((state) => loginParts(browser).find((name) => name.includes(state!))!)
    // The cookie of one state under the name of the other opens nothing.
    browser.jar.set(nameB!, browser.jar.get(nameA!)!)
    expect((await browser.open(await answerOf(second))).status).toBe(400)
    expect((await browser.open(await answerOf(first))).headers.get('location')).toBe(`${ORIGIN}/a`)
  })

  test.each([
    '//evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/\t/evil.example',
    'https://evil.example',
    'javascript:alert(1)',
    '/\n/evil.example',
    'evil',
    '/%00\u0000',
    `/${'a'.repeat(600)}`,
  ])('a returnTo outside this app leads to the start page: %j', async (path) => {
    const { browser } = build()
    const answer = await answerOf(await browser.open(`/login?${new URLSearchParams({ returnTo: path })}`))
    expect((await browser.open(answer)).headers.get('location')).toBe(`${ORIGIN}/`)
  })

  test('a path with dots does not become the name of a host', async () => {
    const { browser } = build()
    for (const path of ['/.//evil.example', '/x/..//evil.example', '/%2e//evil.example']) {
      const answer = await answerOf(await browser.open(`/login?${new URLSearchParams({ returnTo: path })}`))
      expect((await browser.open(answer)).headers.get('location')).toBe(`${ORIGIN}/`)
    }
  })

  test('the Host header has no influence on redirects', async () => {
    const { app } = build()
    const start = await app(new Request('https://evil.example/login', { headers: navigation }))
    expect(locationOf(start).searchParams.get('redirect_uri')).toBe(`${ORIGIN}/callback`)
    const refused = await app(new Request('https://evil.example//evil.example/notes', { headers: navigation }))
    expect(refused.headers.get('location')).toBe(`${ORIGIN}/login?returnTo=%2Fevil.example%2Fnotes`)
  })

  test('the parts of a split cookie open only together and unchanged', async () => {
    const { browser, gate, app } = build()
    const claims = { permissions: Array.from({ length: 250 }, (_, index) => `notes:part-${index}`) }
    const sizes = [browser, openBrowser(app, ORIGIN)]
    for (const each of sizes) {
      gate.service.signInAs(gate.addUser({ ...claims, email: each === browser ? 'ada@example.com' : 'bob@example.com' }))
      await signIn(each)
      expect(sessionParts(each).length).toBeGreaterThan(1)
      for (const line of each.received) expect(line.length).toBeLessThan(4096)
    }
    const [ada, bob] = sizes as [Browser, Browser]
    expect(await (await ada.call('/notes')).text()).toBe('ada@example.com')
    const kept = new Map(ada.jar)
    const restore = () => {
      ada.jar.clear()
      for (const [name, value] of kept) ada.jar.set(name, value)
    }
    const [first, second] = sessionParts(ada) as [string, string]
    const cases: Record<string, () => unknown> = {
      'the first of another session': () => ada.jar.set(first, bob.jar.get(first)!),
      'the second of another session': () => ada.jar.set(second, bob.jar.get(second)!),
      'one is missing': () => ada.jar.delete(second),
      'in another order': () => ada.jar.set(first, `2.${kept.get(second)}`) && ada.jar.set(second, kept.get(first)!.slice(2)),
      'another count': () => ada.jar.set(first, kept.get(first)!.replace(/^\d/, '1')),
      'a larger count': () => ada.jar.set(first, kept.get(first)!.replace(/^\d/, '9')),
      'one character': () =>
        ada.jar.set(second, `${kept.get(second)!.slice(0, -1)}${kept.get(second)!.endsWith('A') ? 'B' : 'A'}`),
      'no base64': () => ada.jar.set(second, '%%%'),
    }
    for (const [name, change] of Object.entries(cases)) {
      restore()
      change()
      expect([name, (await ada.call('/notes')).status]).toEqual([name, 401])
    }
    restore()
    expect((await ada.call('/notes')).status).toBe(200)
  })

  test('a smaller session clears the remaining parts of a larger one', async () => {
    const { browser, gate } = build()
    gate.service.signInAs(gate.addUser({ permissions: Array.from({ length: 250 }, (_, index) => `notes:part-${index}`) }))
    await signIn(browser)
    expect(sessionParts(browser).length).toBeGreaterThan(1)
    gate.service.signInAs(gate.user)
    await signIn(browser)
    expect(sessionParts(browser).length).toBe(1)
    expect(await (await browser.open('/notes')).text()).toBe(EMAIL)
  })

  test('a sign-in whose token does not fit into four cookies is refused, with a reason in the log', async () => {
    const lines: string[] = []
    const gate = createTestAuth({ appCode: 'notes' })
    onTestFinished(() => gate.close())
    const auth = createAuth({ ...settingsOf(gate.env), logger: { warn: (line) => void lines.push(line) } })
    onTestFinished(() => auth.close())
    const session = createWebSession(auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret })
    const browser = openBrowser(async (request) => (await session.handle(request)) ?? new Response(), ORIGIN)
    gate.service.signInAs(gate.addUser({ permissions: Array.from({ length: 650 }, (_, index) => `notes:part-${index}`) }))
    expect((await signIn(browser)).status).toBe(500)
    expect(sessionParts(browser)).toEqual([])
    expect(lines.join()).toContain('the tokens of a user need')
  })

  test('a cookie of another app or another secret opens nothing', async () => {
    const { browser, gate } = build()
    await signIn(browser)
    const strangers = [
      createWebSession(gate.auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret: 'another secret of 32 characters or more' }),
      createWebSession(createAuth({ ...settingsOf(gate.env), appCode: 'shop' }), {
        redirectUrl: `${ORIGIN}/callback`,
        cookieSecret,
      }),
    ]
    for (const stranger of strangers) {
      const headers = new Headers({
        cookie: [...browser.jar]
          .map(([name, value]) => `${name}=${value}; ${name.replace('_notes_', '_shop_')}=${value}`)
          .join('; '),
      })
      expect((await stranger.getSession(headers)).principal).toBeUndefined()
    }
  })

  test.each(['\u00a0', ' \u00a0', '\u000b', '\u000c'])(
    'a cookie name after %j is ignored, because any host of the domain can set such a cookie',
    async (white) => {
      const { app, browser } = build()
      await signIn(browser)
      const kept = [...browser.jar].map((pair) => pair.join('=')).join('; ')
      const open = (cookie: string) => app(new Request(`${ORIGIN}/notes`, { headers: { ...navigation, cookie } }))
      expect((await open(`theme=dark; ${kept}`)).status).toBe(200)
      expect((await open(`theme=dark;${white}${kept}`)).status).toBe(303)
    },
  )

  test.each([
    ['in front of a name', `theme=dark;${' '.repeat(3_000)}x`],
    ['within a name', `theme=dark; x${' '.repeat(15_000)}x`],
    ['within a value', `theme=d${' '.repeat(15_000)}x`],
    ['between cookies', `theme=dark${'; '.repeat(7_500)}x`],
  ])('thousands of blanks %s do not slow down a request', async (_, cookie) => {
    const { app } = build()
    const startedAt = performance.now()
    expect((await app(new Request(`${ORIGIN}/notes`, { headers: { ...navigation, cookie } }))).status).toBe(303)
    expect(performance.now() - startedAt).toBeLessThan(1_000)
  })

  test('an unsafe request is accepted only from a page of this app', async () => {
    const { browser, app } = build()
    await signIn(browser)
    const cookie = [...browser.jar].map((pair) => pair.join('=')).join('; ')
    const send = async (headers: Record<string, string>, method = 'POST') =>
      (await app(new Request(`${ORIGIN}/notes`, { method, headers: { cookie, ...headers } }))).status
    expect(await send({ ...script })).toBe(200)
    expect(await send({ origin: ORIGIN })).toBe(200)
    expect(await send({ ...script, origin: 'null' })).toBe(200)
    for (const site of ['cross-site', 'same-site', 'none'])
      expect([site, await send({ ...form, 'sec-fetch-site': site, origin: ORIGIN })]).toEqual([site, 403])
    for (const origin of ['null', 'https://evil.example', 'http://notes.example', `${ORIGIN}.evil.example`])
      expect([origin, await send({ origin })]).toEqual([origin, 403])
    expect(await send({})).toBe(403)
    for (const method of ['PUT', 'PATCH', 'DELETE']) expect(await send({ 'sec-fetch-site': 'cross-site' }, method)).toBe(403)
    // Any site may open a WebSocket, and the browser sends the cookies along.
    expect(await send({ upgrade: 'websocket', origin: 'https://evil.example' }, 'GET')).toBe(403)
    expect(await send({ upgrade: 'websocket', origin: ORIGIN }, 'GET')).toBe(200)
    // A link on another site may lead to a page.
    expect(await send({ ...navigation, 'sec-fetch-site': 'cross-site' }, 'GET')).toBe(200)
  })

  test('an open page and the handler behind handle do not see the session of a forged request', async () => {
    const { browser, session } = build()
    await signIn(browser)
    const cookie = [...browser.jar].map((pair) => pair.join('=')).join('; ')
    const forged = { cookie: `theme=dark; ${cookie}`, 'sec-fetch-site': 'cross-site' }
    const seen: (string | null)[] = []
    await session.handle(new Request(`${ORIGIN}/`, { method: 'POST', headers: forged }), (request) => {
      seen.push(request.headers.get('cookie'))
      return new Response()
    })
    expect(seen).toEqual(['theme=dark'])
    expect((await session.getSession(new Request(ORIGIN, { method: 'POST', headers: forged }))).principal).toBeUndefined()
  })

  test('a link or another site cannot sign the user out', async () => {
    const { browser } = build()
    await signIn(browser)
    const link = await browser.open('/logout')
    expect([link.status, link.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await browser.send('/logout', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect(await (await browser.open('/notes')).text()).toBe(EMAIL)
  })

  test('an answer with cookies is never cached, whatever the app sets', async () => {
    const { browser, gate } = build()
    await signIn(browser)
    expect((await browser.open('/notes')).headers.get('cache-control')).toBe('public, max-age=3600')
    gate.advance(890)
    const renewed = await browser.open('/notes')
    expect(renewed.headers.getSetCookie().length).toBe(1)
    expect(renewed.headers.get('cache-control')).toBe('private, no-store')
    expect((await browser.open('/login')).headers.get('cache-control')).toBe('private, no-store')
  })

  test('an error page repeats nothing from the request', async () => {
    const { browser } = build()
    const state = locationOf(await browser.open('/login')).searchParams.get('state')!
    const query = new URLSearchParams({ state, iss: 'x', error: '<script>', error_description: '<script>alert(1)</script>' })
    for (const path of [`/callback?${query}`, '/callback?state=<script>', '/callback']) {
      const page = await browser.open(path)
      expect(page.headers.get('content-security-policy')).toBe("default-src 'none'")
      expect(await page.text()).not.toContain('script')
    }
  })

  test('a token that this app refuses ends in an error page, not in a redirect loop', async () => {
    const gate = createTestAuth({ appCode: 'notes' })
    onTestFinished(() => gate.close())
    const secret = 'not the secret of the service, 32 characters'
    const auth = createAuth({ ...settingsOf(gate.env), secret, logger: false })
    onTestFinished(() => auth.close())
    const session = createWebSession(auth, { redirectUrl: `${ORIGIN}/callback`, cookieSecret })
    const browser = openBrowser(appOf(session as WebSession<'notes:delete'>), ORIGIN)
    const page = await browser.follow('/notes')
    expect(page.status).toBe(500)
    expect(await page.text()).toContain('(sign_in_failed)')
  })
})

function settingsOf({ SERVICE_AUTH_URL: authUrl, SERVICE_APP_CODE: appCode, JWT_ACCESS_SECRET: secret }: TestEnvironment) {
  return { authUrl, appCode, secret, revocation: { mode: 'off' as const }, check: 'off' as const }
}
