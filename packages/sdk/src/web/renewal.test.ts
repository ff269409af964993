import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { createTestAuth } from '../testing/index.ts'
import { createWebSession, getAuth, type WebSession } from './index.ts'
import { type Browser, openBrowser, watchTokenCalls } from './test-browser.ts'

const ORIGIN = 'https://notes.example'
const EMAIL = 'test.user@example.com'
const options = { redirectUrl: `${ORIGIN}/callback`, cookieSecret: 'a secret for cookies, of 32 characters or more' }

function build(servers = 1, before?: () => unknown) {
  const calls = watchTokenCalls(before)
  const gate = createTestAuth({ appCode: 'notes' })
  onTestFinished(() => gate.close())
  const sessions = Array.from({ length: servers }, () => createWebSession(gate.auth, options))
  const apps = sessions.map(appOf)
  let turn = 0
  const browser = openBrowser((request) => apps[turn++ % servers]!(request), ORIGIN)
  return { gate, session: sessions[0]!, browser, calls, renewals: () => calls.filter((call) => call === 'refresh_token').length }
}

const appOf = (session: WebSession) => async (request: Request) => {
  const guarded = session.requireSession()(async (request) => new Response(getAuth(request).claims.email))
  return (await session.handle(request)) ?? guarded(request, undefined)
}
const cookieOf = ({ jar }: Browser) => [...jar].map((pair) => pair.join('=')).join('; ')

afterEach(() => {
  vi.restoreAllMocks()
})

test('a session is renewed a little before its token ends and continues with the new cookies', async () => {
  const { browser, gate, renewals } = build()
  await browser.follow('/login')
  gate.advance(865)
  expect((await browser.call('/')).headers.getSetCookie()).toEqual([])
  gate.advance(10)
  expect((await browser.call('/')).headers.getSetCookie().length).toBe(1)
  for (let rounds = 0; rounds < 5; rounds += 1) {
    gate.advance(10_000)
    expect(await (await browser.call('/')).text()).toBe(EMAIL)
  }
  expect(renewals()).toBe(6)
})

test('eight requests at once with one cookie renew the session once, and all are answered', async () => {
  const { browser, gate, renewals } = build()
  await browser.follow('/login')
  gate.advance(1000)
  const answers = await Promise.all(Array.from({ length: 8 }, () => browser.call('/')))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  expect(renewals()).toBe(1)
  gate.advance(1000)
  expect((await browser.call('/')).status).toBe(200)
})

test('two app servers renew one session at once within the leeway of the service', async () => {
  const { browser, gate, renewals } = build(2)
  await browser.follow('/login')
  gate.advance(1000)
  const answers = await Promise.all(Array.from({ length: 8 }, () => browser.call('/')))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
  expect(renewals()).toBe(2)
  gate.advance(1000)
  expect((await browser.call('/')).status).toBe(200)
})

test('the same server repeats the answer to a renewal for a minute, in case the browser lost it', async () => {
  const { browser, gate } = build()
  await browser.follow('/login')
  const before = new Map(browser.jar)
  gate.advance(1000)
  await browser.call('/')
  browser.jar.clear()
  for (const [name, value] of before) browser.jar.set(name, value)
  gate.advance(30)
  expect((await browser.call('/')).status).toBe(200)
  gate.advance(1000)
  expect((await browser.call('/')).status).toBe(200)
})

test('a session that the service has ended is cleared, and the service is asked once', async () => {
  const { browser, gate, renewals } = build()
  await browser.follow('/login')
  const before = new Map(browser.jar)
  await gate.revoke(gate.userId)
  const refused = await browser.call('/')
  expect([refused.status, browser.jar.size]).toEqual([401, 0])
  for (const [name, value] of before) browser.jar.set(name, value)
  for (let tries = 0; tries < 5; tries += 1) expect((await browser.call('/')).status).toBe(401)
  expect(renewals()).toBe(1)
})

test('an outage uses up the current token, then answers 503, and the session continues afterwards', async () => {
  const { browser, gate } = build()
  await browser.follow('/login')
  await gate.service.down()
  gate.advance(880)
  expect((await browser.call('/')).status).toBe(200)
  gate.advance(100)
  const away = await browser.call('/')
  expect([away.status, away.headers.get('retry-after'), away.headers.getSetCookie()]).toEqual([503, '1', []])
  expect((await browser.open('/')).status).toBe(503)
  await gate.service.up()
  expect((await browser.call('/')).status).toBe(200)
})

test('a session is not renewed where no cookie can be set, and an expired token counts as nobody', async () => {
  const { browser, gate, session, renewals } = build()
  await browser.follow('/login')
  const headers = () => new Headers({ cookie: cookieOf(browser) })
  expect((await session.getSession(headers())).principal?.claims.email).toBe(EMAIL)
  gate.advance(1000)
  expect(await session.getSession(headers())).toMatchObject({ principal: undefined, accessToken: undefined })
  expect(renewals()).toBe(0)
  // With the request, the cookies come back in `headers`, and those behind it see them.
  const request = new Request(ORIGIN, { headers: headers() })
  const renewed = await session.getSession(request)
  expect(renewed.principal?.claims.email).toBe(EMAIL)
  expect([...renewed.headers.keys()]).toEqual(['cache-control', 'set-cookie'])
  let behind: Headers | undefined
  const answer = await session.handle(new Request(ORIGIN, { headers: headers() }), (request) => {
    behind = request.headers
    return Response.redirect(ORIGIN)
  })
  expect(answer.headers.getSetCookie().length).toBe(1)
  expect((await session.getSession(behind!)).principal?.claims.email).toBe(EMAIL)
})

test('signing out ends the session also for a copy of its cookies', async () => {
  const { browser } = build()
  await browser.follow('/login')
  const stolen = new Map(browser.jar)
  const out = await browser.send('/logout?returnTo=/bye')
  expect([out.status, out.headers.get('location'), browser.jar.size]).toEqual([303, `${ORIGIN}/bye`, 0])
  for (const [name, value] of stolen) browser.jar.set(name, value)
  await expect.poll(async () => (await browser.call('/')).status, { interval: 5 }).toBe(401)
  expect(browser.jar.size).toBe(0)
})

test('signing out wins over a renewal in progress, whose answer sets no cookie and signs nobody in', async () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  let isHeld = false
  const { browser, gate, renewals } = build(1, () => isHeld && held)
  await browser.follow('/login')
  gate.advance(1000)
  isHeld = true
  const asking = Array.from({ length: 4 }, () => browser.call('/'))
  await expect.poll(renewals, { interval: 5 }).toBe(1)
  const leaving = browser.send('/logout')
  // The sign-out has to be under way before the renewal ends.
  await new Promise((resolve) => setTimeout(resolve, 20))
  release()
  expect((await leaving).status).toBe(303)
  for (const answer of await Promise.all(asking)) {
    expect(answer.status).toBe(401)
    expect(answer.headers.getSetCookie().filter((line) => !line.includes('Max-Age=0'))).toEqual([])
  }
  expect(browser.jar.size).toBe(0)
})

test('an answer that is sent after the user has signed out sets no cookie', async () => {
  const { browser, gate, session } = build()
  await browser.follow('/login')
  gate.advance(1000)
  const request = new Request(ORIGIN, { headers: { cookie: cookieOf(browser) } })
  const answer = await session.handle(request, async () => {
    expect((await browser.send('/logout')).status).toBe(303)
    return new Response('late')
  })
  expect([await answer.text(), answer.headers.getSetCookie(), browser.jar.size]).toEqual(['late', [], 0])
})

test('signing out with browser visits the service and comes back', async () => {
  const { browser, gate } = build()
  await browser.follow('/login')
  const out = await browser.send('/logout?browser&returnTo=/bye')
  const url = new URL(out.headers.get('location')!)
  expect([url.origin, url.pathname, url.searchParams.get('client_id')]).toEqual([
    gate.env.SERVICE_AUTH_URL,
    '/oauth/logout',
    'notes',
  ])
  const back = new URL((await fetch(url, { redirect: 'manual' })).headers.get('location')!)
  expect((await browser.open(back.pathname + back.search)).headers.get('location')).toBe(`${ORIGIN}/bye`)
  expect(browser.jar.size).toBe(0)
})

test('signing out forgets the session here even while the service is down', async () => {
  const { browser, gate } = build()
  await browser.follow('/login')
  await gate.service.down()
  expect((await browser.send('/logout')).status).toBe(303)
  expect(browser.jar.size).toBe(0)
  await gate.service.up()
})

test('a new cookie secret is used for new cookies, and the previous one still opens old ones', async () => {
  const { browser, gate } = build()
  await browser.follow('/login')
  const [current, previous] = ['a newer secret for cookies, of 32 or more', options.cookieSecret]
  const rotated = createWebSession(gate.auth, { ...options, cookieSecret: [current, previous] })
  const read = async (session: WebSession, cookie: string) =>
    (await session.getSession(new Headers({ cookie }))).principal?.claims.email
  expect(await read(rotated, cookieOf(browser))).toBe(EMAIL)
  gate.advance(1000)
  const renewed = await rotated.getSession(new Request(ORIGIN, { headers: { cookie: cookieOf(browser) } }))
  const cookie = renewed.headers.getSetCookie()[0]!.split(';')[0]!
  expect(await read(createWebSession(gate.auth, { ...options, cookieSecret: current }), cookie)).toBe(EMAIL)
  expect(await read(createWebSession(gate.auth, options), cookie)).toBeUndefined()
})

test('createWebSession names all wrong settings at once and quotes none', () => {
  const { gate } = build()
  const refusalOf = (given: object) => {
    try {
      createWebSession(gate.auth, given)
      return ''
    } catch (error) {
      return String((error as Error).message)
    }
  }
  expect(refusalOf({})).toContain('SERVICE_REDIRECT_URL')
  expect(refusalOf({})).toContain('SERVICE_COOKIE_SECRET')
  for (const redirectUrl of ['/callback', 'notes.example/callback', 'https://notes.example/callback?a=b', 'ftp://notes.example/'])
    expect(refusalOf({ ...options, redirectUrl })).toContain('SERVICE_REDIRECT_URL')
  for (const cookieSecret of [
    'short',
    [options.cookieSecret, 'short'],
    [options.cookieSecret, options.cookieSecret, options.cookieSecret],
  ])
    expect(refusalOf({ ...options, cookieSecret })).toContain('SERVICE_COOKIE_SECRET')
  expect(refusalOf({ ...options, cookieSecret: 'short but sweet' })).not.toContain('sweet')
  expect(refusalOf({ ...options, redirectURL: 'x' })).toContain('redirectURL is not an option')
  expect(() => createWebSession({} as never, options)).toThrow('needs the result of createAuth')
})

test('a lazy session reads the environment at the first request, not before', async () => {
  const { gate } = build()
  const session = createWebSession(gate.auth, { lazy: true })
  await expect(session.handle(new Request(`${ORIGIN}/login`))).rejects.toThrow('SERVICE_REDIRECT_URL')
  vi.stubEnv('SERVICE_REDIRECT_URL', options.redirectUrl)
  vi.stubEnv('SERVICE_COOKIE_SECRET', options.cookieSecret)
  expect((await session.handle(new Request(`${ORIGIN}/login`)))?.status).toBe(303)
  vi.unstubAllEnvs()
})

test('a misspelt requirement throws at once', () => {
  const { session } = build()
  expect(() => session.requireSession({ permission: ['a:b'] } as never)).toThrow('"permission" is not one of its options')
  expect(() => session.node.requireSession({ permission: ['a:b'] } as never)).toThrow('"permission" is not one of its options')
})
