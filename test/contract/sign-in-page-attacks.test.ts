// What attackers try with the sign-in page: forms of other sites, cookies and fields that were made for others, redirects to
// elsewhere, and codes that were stolen or planted.
import { createHash } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { listRootRoutes, listRoutes } from '../../packages/server/src/app.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { addMember, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { forgeToken } from '../support/forge-token.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { hostileRedirects, redirectRules } from '../support/hostile-redirects.ts'
import { auditEvents, countRows, everyRow } from '../support/rows.ts'
import { buildApp, buildService, buildUser, claimsOf, type Json, PASSWORD, someEmail } from '../support/service.ts'
import { type Arrival, askFor, exchange, type Page, signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { enableTwoFactor } from '../support/totp.ts'
import { traceStatements } from '../support/trace-statements.ts'

const service = serviceFixture({}, { frozen: true })
const shop = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: redirectRules })
const forum = appFixture(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://forum.example/cb'] })

/** One request with the cookies of a browser, whose redirect is not followed. */
const fetchAs = (visitor: Visitor, path: string, init: RequestInit = {}) =>
  fetch(new URL(path, service.url), {
    redirect: 'manual',
    ...init,
    headers: { cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; '), ...init.headers },
  })

/** A browser in which a new user of the shop is signed in. */
async function buildVisitor(app: Json = shop, values: Record<string, string> = {}): Promise<{ visitor: Visitor; user: Json }> {
  const { user } = await buildUser(service, app)
  const visitor = visit(service)
  const { app: at } = await signInOnPage(visitor, askFor(app), user.email, values)
  expect(at?.searchParams.has('code')).toBe(true)
  // A request that begins now is newer than the proof.
  service.advance(1)
  return { visitor, user }
}

/** The same text with another character in the middle. */
const flipped = (text: string) => {
  const at = text.length >> 1
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
}
const cookieOf = ({ cookies }: Visitor, name: string) => cookies.get(`gatehouse_${name}`) ?? ''
const fieldOf = ({ forms }: Page, name: string) => forms[0]?.values[name] ?? ''

/** Somebody who is signed in enters without a page; everybody else gets one. */
async function isSignedIn(visitor: Visitor): Promise<boolean> {
  return (await visitor.get(askFor(shop).path)).app !== undefined
}

describe('forms of other sites', () => {
  const foreign: [string, Record<string, string>][] = [
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another host of the same site', { 'sec-fetch-site': 'same-site' }],
    ['no site, as a browser says of a typed URL', { 'sec-fetch-site': 'none' }],
    ['another site that claims our origin', { 'sec-fetch-site': 'cross-site', origin: 'http://127.0.0.1:3000' }],
    ['another origin, in a browser that names no site', { origin: 'https://evil.example' }],
    ['an origin that only begins like ours', { origin: 'http://127.0.0.1:3000.evil.example' }],
    ['a sandboxed frame, whose origin is null', { origin: 'null' }],
    ['a client that says nothing', {}],
    ['a page that names us as its referrer', { referer: 'http://127.0.0.1:3000/oauth/authorize' }],
  ]

  test.each(foreign)('%s cannot sign a browser in', async (_, headers) => {
    const { user } = await buildUser(service, shop)
    const attacker = visit(service)
    const page = await attacker.get(askFor(shop).path)
    const form = { ...page.forms[0]!.values, email: user.email, password: PASSWORD }
    const reply = await attacker.post(`${service.url}/oauth/authorize`, form, headers)
    expect(reply.status).toBe(403)
    expect(reply.headers.getSetCookie()).toEqual([])
    expect(await reply.text()).toContain('This form is not ours')
    expect(await countRows(service, 'browser_sessions', { user_id: user.id })).toBe(0)
  })

  test.each(foreign)('%s cannot sign a browser out', async (_, headers) => {
    const { visitor } = await buildVisitor()
    const page = await visitor.get('/oauth/logout')
    const reply = await visitor.post(`${service.url}/oauth/logout`, page.forms[0]!.values, headers)
    expect(reply.status).toBe(403)
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test.each(foreign)(
    '%s may send an authorization request, which is redirected to the same request by GET',
    async (_, headers) => {
      const { visitor, user } = await buildVisitor()
      const asked = askFor(shop, { scope: 'openid', nonce: 'a nonce' })
      const sent = Object.fromEntries(new URLSearchParams(asked.path.split('?')[1]))
      const own = { account: 'overview', device: 'x', return_to: 'x', resume: 'x', step: 'another_account', query: 'x' }
      const more = { ...own, email: user.email, password: PASSWORD, unknown: 'x' }
      const reply = await visitor.post(`${service.url}/oauth/authorize`, { ...sent, ...more }, headers)
      expect([reply.status, reply.headers.getSetCookie(), await reply.text()]).toEqual([303, [], ''])
      const location = new URL(reply.headers.get('location')!, service.url)
      expect([location.origin, location.pathname]).toEqual([new URL(service.url).origin, '/oauth/authorize'])
      expect(Object.fromEntries(location.searchParams)).toEqual(sent)
      // From there on it is as with any link: the user who is signed in enters, and nobody was signed in or out by it.
      expect((await visitor.get(location.href)).app?.searchParams.has('code')).toBe(true)
      expect((await visit(service).get(location.href)).title).toBe('Sign in')
    },
  )

  test('an authorization request as a form is checked like a link for repeated, unknown and too long parameters', async () => {
    const send = (form: string) =>
      fetch(`${service.url}/oauth/authorize`, {
        ...{ method: 'POST', redirect: 'manual', body: form },
        headers: { 'sec-fetch-site': 'cross-site', 'content-type': 'application/x-www-form-urlencoded' },
      })
    const query = askFor(shop).path.split('?')[1]
    const twice = await send(`${query}&scope=openid&scope=email`)
    const { app } = await visit(service).get(twice.headers.get('location')!)
    expect(app?.searchParams.get('error_description')).toBe('scope is given twice')
    const unknown = await send('client_id=nobody&redirect_uri=https://evil.example/')
    expect(unknown.headers.get('location')).toMatch(/^\/oauth\/authorize\?/)
    expect((await visit(service).get(unknown.headers.get('location')!)).status).toBe(400)
    const long = await send(`${query}&login_hint=${'x'.repeat(6_000)}`)
    expect([long.status, long.headers.get('location')]).toEqual([400, null])
    const json = await fetch(`${service.url}/oauth/authorize`, {
      ...{ method: 'POST', redirect: 'manual', body: JSON.stringify({ client_id: shop.code }) },
      headers: { 'content-type': 'application/json' },
    })
    expect(json.status).toBe(403)
  })

  test('a request to sign out may come as a form, and the page asks as it does for a link', async () => {
    const { visitor } = await buildVisitor()
    const sent = { client_id: shop.code, state: 'bye', query: 'x', request: 'x' }
    const reply = await visitor.post(`${service.url}/oauth/logout`, sent, { 'sec-fetch-site': 'cross-site' })
    expect([reply.status, reply.headers.get('location')]).toEqual([303, `/oauth/logout?client_id=${shop.code}&state=bye`])
    expect((await visitor.get(reply.headers.get('location')!)).title).toBe('Sign out')
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test('a form from a browser that names no site is accepted if it names our origin', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const page = await visitor.get(askFor(shop).path)
    const form = { ...page.forms[0]!.values, email: user.email, password: PASSWORD }
    const origin = new URL(service.deps.config.publicUrl).origin
    expect((await visitor.post(`${service.url}/oauth/authorize`, form, { origin })).status).toBe(303)
    expect(await isSignedIn(visitor)).toBe(true)
  })

  test('a form that another browser was given signs nobody in, so an attacker cannot plant an account', async () => {
    const { user: attackerUser } = await buildUser(service, shop)
    const attacker = visit(service)
    const page = await attacker.get(askFor(shop).path)
    const victim = visit(service)
    await victim.get(askFor(shop).path)
    for (const browser of [victim, visit(service)]) {
      const arrival = await browser.send(page, 'Sign in', { email: attackerUser.email, password: PASSWORD })
      // A browser with another cookie begins again; one without any is told so.
      expect(['Sign in', 'This page is too old']).toContain(arrival.title)
      expect(cookieOf(browser, 'session')).toBe('')
    }
    expect(await countRows(service, 'browser_sessions', { user_id: attackerUser.id })).toBe(0)
  })

  test('no other origin may read or send: the pages have no CORS headers', async () => {
    for (const path of ['/oauth/authorize', '/oauth/logout'])
      for (const method of ['GET', 'POST', 'OPTIONS']) {
        const headers = { origin: 'https://evil.example', 'access-control-request-method': 'POST' }
        const reply = await fetch(service.url + path, { method, headers, redirect: 'manual' })
        expect(reply.headers.get('access-control-allow-origin')).toBeNull()
        expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
      }
    for (const path of ['/oauth/token', '/oauth/revoke', '/.well-known/oauth-authorization-server']) {
      const reply = await fetch(service.url + path, { method: 'OPTIONS', headers: preflight })
      expect(reply.headers.get('access-control-allow-origin')).toBe('*')
      expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })
  const preflight = { origin: 'https://spa.example', 'access-control-request-method': 'POST' }
})

describe('sealed fields', () => {
  test('a sealed field of one kind is refused in the place of another', async () => {
    const { visitor } = await buildVisitor()
    const asked = askFor(forum)
    const request = fieldOf(await visitor.get(asked.path), 'request')
    const logout = fieldOf(await visitor.get('/oauth/logout'), 'request')
    const refused = await visitor.send(await visitor.get(askFor(shop, { prompt: 'login' }).path), 'Sign in', {
      email: someEmail(),
      password: 'wrong password',
    })
    const resume = fieldOf(refused, 'resume')
    expect(resume).not.toBe('')
    const post = async (path: string, values: Record<string, string>) => (await visitor.post(service.url + path, values)).status
    for (const field of [logout, resume, '', 'x', request.slice(1), flipped(request)])
      expect(await post('/oauth/authorize', { step: 'another_account', request: field })).toBe(400)
    for (const field of [request, resume, '']) expect(await post('/oauth/logout', { request: field })).toBe(400)
    expect(await isSignedIn(visitor)).toBe(true)
    // As `resume`, a field of another kind carries nothing.
    for (const field of [request, logout]) {
      const page = await visitor.get(`${askFor(shop, { prompt: 'login' }).path}&resume=${encodeURIComponent(field)}`)
      expect(page.title).toBe('Sign in')
      expect(fieldOf(page, 'resume')).toBe('')
    }
  })

  test('a field that was sealed for one request does not count for another', async () => {
    const { visitor } = await buildVisitor()
    const asked = askFor(shop, { prompt: 'login' })
    const refused = await visitor.send(await visitor.get(asked.path), 'Sign in', { email: someEmail(), password: 'wrong' })
    expect(refused.html).toContain('The e-mail address or the password is wrong.')
    const resume = encodeURIComponent(fieldOf(refused, 'resume'))
    const other = await visitor.get(`${askFor(shop, { prompt: 'login' }).path}&resume=${resume}`)
    expect(other.html).not.toContain('The e-mail address or the password is wrong.')
  })

  test('a request is not resumed after a later sign-in, so an old start cannot make an old proof new', async () => {
    const { visitor } = await buildVisitor()
    const first = askFor(shop, { prompt: 'login' })
    const refused = await visitor.send(await visitor.get(first.path), 'Sign in', { email: someEmail(), password: 'wrong' })
    const resume = encodeURIComponent(fieldOf(refused, 'resume'))
    service.advance(10)
    const { user } = await buildUser(service, shop)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), user.email)
    service.advance(10)
    const later = await visitor.get(`${askFor(shop, { prompt: 'login' }).path}&resume=${resume}`)
    expect(later.title).toBe('Sign in')
  })
})

describe('cookies', () => {
  test('the session cookie has another value after every proof, and an earlier value is worthless', async () => {
    const { visitor, user } = await buildVisitor()
    const before = new Map(visitor.cookies)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), user.email)
    expect(cookieOf(visitor, 'session')).not.toBe(before.get('gatehouse_session'))
    expect(await isSignedIn(visitor)).toBe(true)
    const old = visit(service)
    for (const [name, value] of before) old.cookies.set(name, value)
    expect(await isSignedIn(old)).toBe(false)
  })

  test('a planted session cookie does not become the one of the person who signs in', async () => {
    const { visitor: attacker, user: attackerUser } = await buildVisitor()
    const { user } = await buildUser(service, shop)
    for (const planted of [cookieOf(attacker, 'session'), 'made-up']) {
      const victim = visit(service)
      victim.cookies.set('gatehouse_session', planted)
      await signInOnPage(victim, askFor(shop, { prompt: 'login' }), user.email)
      expect(cookieOf(victim, 'session')).not.toBe(planted)
      expect(await isSignedIn(victim)).toBe(true)
      // One person at a time: the session that was there before has ended.
      expect(await isSignedIn(attacker)).toBe(false)
    }
    const rows = await service.deps.db('browser_sessions').where({ user_id: attackerUser.id })
    expect(rows.map((row: Json) => row.ended_reason)).toEqual(['replaced'])
  })

  test('no cookie can be read by a script, sent by another site in the background, or set by another host', async () => {
    for (const [publicUrl, prefix, secure] of [
      ['https://login.example.com', '__Host-gatehouse_', true],
      ['http://localhost:3000', 'gatehouse_', false],
    ] as const) {
      const service = await buildService({ PUBLIC_URL: publicUrl })
      const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/cb'] })
      const { user } = await buildUser(service, app)
      const visitor = visit(service)
      const asked = askFor(app)
      const first = await fetch(service.url + asked.path)
      const page = await visitor.get(asked.path)
      const form = { ...page.forms[0]!.values, email: user.email, password: PASSWORD }
      const reply = await visitor.post(`${service.url}/oauth/authorize`, form)
      const lines = [...first.headers.getSetCookie(), ...reply.headers.getSetCookie()]
      expect(lines.map((line) => line.split('=')[0]).sort()).toEqual(
        ['browser', 'device', 'session'].map((name) => prefix + name),
      )
      for (const line of lines) {
        expect(line).toMatch(/; path=\//i)
        expect(line).toMatch(/; httponly/i)
        expect(line).toMatch(/; samesite=lax/i)
        expect(/; secure/i.test(line)).toBe(secure)
        expect(line).not.toMatch(/; domain/i)
      }
      // Without "Keep me signed in" the session ends with the browser.
      expect(lines.find((line) => line.startsWith(`${prefix}session`))).not.toMatch(/expires|max-age/i)
    }
  })

  test('no route of the API declares a cookie, and pages declare the cookies that they read', () => {
    expect(listRoutes().filter(({ cookies }) => cookies !== undefined)).toEqual([])
    const reading = listRootRoutes().filter(({ cookies }) => cookies !== undefined)
    expect(reading.length).toBeGreaterThan(0)
    for (const { path, speaks } of reading) {
      expect(speaks).toBe('page')
      expect(path.startsWith('/api/')).toBe(false)
    }
  })

  test('the API does not accept a cookie as a token', async () => {
    const { visitor } = await buildVisitor()
    const headers = { cookie: [...visitor.cookies].map((pair) => pair.join('=')).join('; ') }
    expect((await service.call('GET', '/auth/me', { headers })).body.code).toBe('token_missing')
    expect((await service.call('POST', '/auth/logout-all', { headers })).body.code).toBe('token_missing')
    expect(await isSignedIn(visitor)).toBe(true)
  })
})

test('no page of ours can be framed, cached or seen in a referrer, whatever it answers', async () => {
  const { visitor, user } = await buildVisitor()
  const stranger = visit(service)
  const signIn = await stranger.get(askFor(forum).path)
  const replies: Record<string, Response> = {
    'the sign-in': await fetchAs(stranger, askFor(shop).path),
    'silent entry': await fetchAs(visitor, askFor(shop).path),
    'the question to go on': await fetchAs(visitor, askFor(forum).path),
    'an error for the app': await fetchAs(stranger, askFor(shop, { prompt: 'none' }).path),
    'an unknown app': await fetch(`${service.url}/oauth/authorize?client_id=unknown`),
    'a form of another site': await stranger.post(`${service.url}/oauth/authorize`, {}, { origin: 'null' }),
    'a form that is too old': await stranger.post(`${service.url}/oauth/authorize`, {}),
    'a wrong password': await stranger.post(`${service.url}/oauth/authorize`, {
      ...signIn.forms[0]!.values,
      email: user.email,
      password: 'wrong',
    }),
    'signing out': await fetchAs(visitor, '/oauth/logout'),
  }
  for (const [name, { headers }] of Object.entries(replies)) {
    const policy = headers.get('content-security-policy') ?? ''
    expect(policy, name).toContain("frame-ancestors 'none'")
    expect(policy, name).toContain("default-src 'none'")
    expect(policy, name).toContain("base-uri 'none'")
    expect(policy, name).not.toContain('unsafe')
    expect(headers.get('x-frame-options'), name).toBe('DENY')
    expect(headers.get('cross-origin-opener-policy'), name).toBe('same-origin')
    expect(headers.get('referrer-policy'), name).toMatch(/^(same-origin|no-referrer)$/)
    expect(headers.get('cache-control'), name).toBe('no-store')
  }
})

describe('redirects to other sites', () => {
  test('an authorization request with a foreign redirect URL is answered with a page, signed in or not', async () => {
    const { visitor } = await buildVisitor()
    for (const redirect_uri of hostileRedirects)
      for (const browser of [visit(service), visitor])
        for (const prompt of [undefined, 'none']) {
          const { status, headers } = await fetchAs(browser, askFor(shop, { redirect_uri, prompt }).path)
          expect([status, headers.get('location')], redirect_uri).toEqual([400, null])
        }
  })

  test('a sign-out with a foreign redirect URL ends on our page', async () => {
    for (const url of hostileRedirects) {
      const visitor = visit(service)
      const query = new URLSearchParams({ client_id: shop.code, post_logout_redirect_uri: url, state: 'x' })
      const page = await visitor.get(`/oauth/logout?${query}`)
      if (page.status === 400) continue
      const arrival = await visitor.send(page, 'Sign out')
      expect([arrival.app, arrival.title], url).toEqual([undefined, 'You are signed out'])
    }
  })

  test('a sign-out accepts only the form of its own browser, and ends nothing that was entered from another one', async () => {
    const { visitor, user } = await buildVisitor()
    const there = visit(service)
    await signInOnPage(there, askFor(shop), user.email)
    const enter = async (at: Visitor) => {
      const asked = askFor(shop)
      return (await exchange(service, shop, asked, (await at.get(asked.path)).app)).body.access_token as string
    }
    const tokens = [await enter(visitor), await enter(there)]
    const alive = async (token: string) => (await service.call('GET', '/auth/me', { token })).status === 200
    const page = await visitor.get('/oauth/logout')
    const foreign = await there.post(`${service.url}/oauth/logout`, page.forms[0]!.values)
    expect(foreign.status).toBe(400)
    expect([await alive(tokens[0]!), await alive(tokens[1]!)]).toEqual([true, true])
    await visitor.send(page, 'Sign out')
    expect([await alive(tokens[0]!), await alive(tokens[1]!)]).toEqual([false, true])
    expect([await isSignedIn(visitor), await isSignedIn(there)]).toEqual([false, true])
  })

  test('a sign-out returns only to a URL of the app that it names', async () => {
    const leave = async (query: Record<string, string>): Promise<Arrival> => {
      const visitor = visit(service)
      return visitor.send(await visitor.get(`/oauth/logout?${new URLSearchParams(query)}`), 'Sign out')
    }
    const url = 'https://shop.example/callback'
    const arrival = await leave({ client_id: shop.code, post_logout_redirect_uri: url, state: 'a b' })
    expect(arrival.app?.href).toBe(`${url}?state=a+b`)
    expect((await leave({ client_id: forum.code, post_logout_redirect_uri: url })).app).toBeUndefined()
    expect((await leave({ post_logout_redirect_uri: url })).app).toBeUndefined()
    // Nobody has an ID token of this service, so that every hint is a bad one.
    const hint = forgeToken({ sid: 'of somebody else' })
    const hinted = await leave({ client_id: shop.code, post_logout_redirect_uri: url, id_token_hint: hint })
    expect([hinted.app, hinted.title]).toEqual([undefined, 'You are signed out'])
  })

  test('an app whose redirect URLs all end in * gets a page that says so', async () => {
    const app = await buildApp(service, { allowed_redirect_urls: ['https://wild.example/*'] })
    const page = await visit(service).get(askFor(app, { redirect_uri: 'https://wild.example/cb' }).path)
    expect(page.status).toBe(400)
    expect(page.html).toContain('All redirect URLs of the app end in')
  })

  test('outside production, a page about a redirect URL shows that URL, escaped, and the command that adds it', async () => {
    const faultOf = async (redirect_uri: string) => (await visit(service).get(askFor(shop, { redirect_uri }).path)).html
    const told = await faultOf('http://localhost:3001/callback')
    expect(told).toContain('the app has sent http://localhost:3001/callback.')
    const command = `authctl app update ${shop.code} --redirect ${[...redirectRules, 'http://localhost:3001/callback'].map((url) => `'${url}'`).join(' ')}`
    expect(told.replaceAll('&#39;', "'")).toContain(command)
    const forged = await faultOf('https://x.example/<script>;rm')
    expect(forged).not.toContain('<script>')
    expect(forged).not.toContain('authctl')
    const { config } = service.deps
    config.production = true
    onTestFinished(() => {
      config.production = false
    })
    expect(await faultOf('http://localhost:3001/callback')).not.toContain('3001')
  })

  test('any port of a loopback address is accepted, and the person is asked before a code goes there', async () => {
    const { visitor } = await buildVisitor()
    for (const redirect_uri of ['http://127.0.0.1:54321/cb', 'http://[::1]:54321/cb', 'com.example.shop:/cb']) {
      const asked = askFor(shop, { redirect_uri })
      const page = await visitor.get(asked.path)
      expect(page.title).toBe(`Continue to ${shop.code}`)
      const arrival = await visitor.send(page, 'Continue')
      expect(arrival.app?.href.startsWith(`${redirect_uri}?code=`)).toBe(true)
      expect((await exchange(service, shop, asked, arrival.app)).status).toBe(200)
    }
  })
})

describe('parameters', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ['another response type', { response_type: 'token' }, 'unsupported_response_type'],
    ['a hybrid response type', { response_type: 'code id_token' }, 'unsupported_response_type'],
    ['no response type', { response_type: undefined }, 'invalid_request'],
    ['another response mode', { response_mode: 'fragment' }, 'invalid_request'],
    ['a form as response mode', { response_mode: 'form_post' }, 'invalid_request'],
    ['a request object', { request: 'eyJ' }, 'request_not_supported'],
    ['a request elsewhere', { request_uri: 'https://evil.example/r' }, 'request_uri_not_supported'],
    ['no challenge', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['a challenge that is the verifier', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a challenge whose method is left out', { code_challenge_method: undefined }, 'invalid_request'],
    ['an empty challenge', { code_challenge: '' }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'a' }, 'invalid_request'],
    ['two prompts', { prompt: 'none login' }, 'invalid_request'],
    ['an unknown prompt', { prompt: 'consent' }, 'invalid_request'],
    ['a negative age', { max_age: '-1' }, 'invalid_request'],
    ['a long state', { state: 'x'.repeat(2_001) }, 'invalid_request'],
    ['a long nonce', { nonce: 'x'.repeat(201) }, 'invalid_request'],
    ['an organization that is not a UUID', { organization_id: '<script>' }, 'invalid_request'],
  ])('%s is reported to the app, with state and issuer, and without the text that was sent', async (_, changes, error) => {
    const { visitor } = await buildVisitor()
    const asked = askFor(shop, changes)
    const reply = await fetchAs(visitor, asked.path)
    expect(reply.status).toBe(303)
    const at = new URL(reply.headers.get('location') ?? '')
    expect(at.href.startsWith('https://shop.example/callback?')).toBe(true)
    expect(at.searchParams.get('error')).toBe(error)
    expect(at.searchParams.get('iss')).toBe(service.deps.config.publicUrl)
    expect(at.searchParams.get('state')).toBe('state' in changes ? null : asked.state)
    expect(at.searchParams.has('code')).toBe(false)
    for (const value of Object.values(changes))
      if (value && value.length > 6) expect(at.searchParams.get('error_description')).not.toContain(value)
  })

  test.each(['state', 'code_challenge', 'prompt', 'scope', 'resource_unknown'])(
    '%s given twice is an error, unless the parameter is unknown',
    async (name) => {
      const reply = await fetch(`${service.url}${askFor(shop, { [name]: 'x' }).path}&${name}=y`, { redirect: 'manual' })
      // Unknown parameters are ignored, as RFC 6749 demands.
      if (name === 'resource_unknown') expect(reply.status).toBe(200)
      else expect(new URL(reply.headers.get('location') ?? '').searchParams.get('error')).toBe('invalid_request')
    },
  )

  test.each(['client_id', 'redirect_uri'])('%s given twice is answered with a page', async (name) => {
    const value = name === 'client_id' ? shop.code : 'https://shop.example/callback'
    const reply = await fetch(`${service.url}${askFor(shop).path}&${name}=${encodeURIComponent(value)}`, { redirect: 'manual' })
    expect([reply.status, reply.headers.get('location')]).toEqual([400, null])
  })

  test('markup in any parameter stays text', async () => {
    const markup = '"><script>alert(1)</script>'
    const { html } = await visit(service).get(
      askFor(shop, { state: markup, login_hint: markup, nonce: markup, scope: markup, ui_locales: markup, provider: markup })
        .path,
    )
    expect(html).not.toContain('<script>')
  })

  test('control characters in parameters, such as NUL, break nothing', async () => {
    const { visitor } = await buildVisitor()
    for (const name of ['nonce', 'state', 'scope', 'login_hint', 'provider', 'invite', 'method']) {
      const reply = await fetchAs(visitor, askFor(shop, { [name]: 'a\u0000b\u0001' }).path)
      expect(reply.status, name).toBeLessThan(500)
    }
    const page = await visit(service).get(askFor(shop).path)
    for (const name of ['email', 'password', 'two_factor_code', 'organization_id', 'request', 'resume', 'step']) {
      const values = { ...page.forms[0]!.values, email: someEmail(), password: 'x', [name]: 'a\u0000b' }
      expect((await visit(service).post(`${service.url}/oauth/authorize`, values)).status, name).toBeLessThan(500)
    }
  })
})

describe('silent entry', () => {
  /** What somebody who is signed in gets: a code, or the title of a page, or an error for the app. */
  async function ask(visitor: Visitor, app: Json, parameters: Record<string, string | undefined> = {}): Promise<string> {
    const { app: at, title } = await visitor.get(askFor(app, parameters).path)
    if (!at) return title
    return at.searchParams.get('error') ?? (at.searchParams.has('code') ? 'a code' : 'nothing')
  }
  const change = async (app: Json, changes: Record<string, unknown>) =>
    expect((await service.admin('PATCH', `/admin/apps/${app.id}`, { body: changes })).status).toBe(200)
  const newApp = (settings: Record<string, unknown> = {}) =>
    buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://x.example/cb'], ...settings })

  test('silent entry needs an app that takes part, an owned redirect URL, no prompt and no invitation', async () => {
    const app = await newApp({ allowed_redirect_urls: [...redirectRules, 'http://localhost:3000/cb'] })
    const { visitor } = await buildVisitor(app)
    const goOn = `Continue to ${app.code}`
    expect(await ask(visitor, app)).toBe('a code')
    expect(await ask(visitor, app, { redirect_uri: 'http://localhost:3000/cb' })).toBe('a code')
    expect(await ask(visitor, app, { redirect_uri: 'http://127.0.0.1:1/cb' })).toBe(goOn)
    expect(await ask(visitor, app, { redirect_uri: 'com.example.shop:/cb' })).toBe(goOn)
    expect(await ask(visitor, app, { prompt: 'login' })).toBe('Sign in')
    expect(await ask(visitor, app, { invite: 'x' })).not.toBe('a code')
    expect(await ask(visitor, app, { invite: 'x', prompt: 'none' })).toBe('interaction_required')
    await change(app, { single_sign_on: false })
    expect(await ask(visitor, app)).toBe(goOn)
    expect(await ask(visitor, app, { prompt: 'none' })).toBe('interaction_required')
  })

  test('silent entry needs a proof that is newer than the request and the app demand', async () => {
    const app = await newApp()
    const { visitor } = await buildVisitor(app)
    service.advance(99)
    expect(await ask(visitor, app, { max_age: '100' })).toBe('a code')
    expect(await ask(visitor, app, { max_age: '99' })).toBe('Sign in')
    expect(await ask(visitor, app, { max_age: '0' })).toBe('Sign in')
    expect(await ask(visitor, app, { max_age: '99', prompt: 'none' })).toBe('login_required')
    await change(app, { max_sign_in_age_seconds: 99 })
    expect(await ask(visitor, app)).toBe('Sign in')
    expect(await ask(visitor, app, { max_age: '1000' })).toBe('Sign in')
    await change(app, { max_sign_in_age_seconds: null })
    expect(await ask(visitor, app)).toBe('a code')
  })

  test('silent entry needs the second factor, shown in this browser after it was activated', async () => {
    const app = await newApp()
    const { user, access_token } = await buildUser(service, app)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(app), user.email)
    expect(await ask(visitor, app)).toBe('a code')
    const phone = await enableTwoFactor(service, access_token)
    expect(await ask(visitor, app)).toBe('Sign in')
    expect(await ask(visitor, app, { prompt: 'none' })).toBe('login_required')
    const second = await signInOnPage(visitor, askFor(app), user.email)
    expect(second.title).toBe('Enter your code')
    expect((await visitor.send(second, 'Continue', { two_factor_code: phone.code() })).app).toBeDefined()
    expect(await ask(visitor, app)).toBe('a code')
    // Another factor was not shown here.
    expect((await service.admin('DELETE', `/admin/users/${user.id}/2fa`)).status).toBeLessThan(300)
    const again = await service.login(user.email, app.code)
    await enableTwoFactor(service, again.body.access_token)
    expect(await ask(visitor, app)).toBe('Sign in')
  })

  test('silent entry needs the user whom the address names in the pools of the app', async () => {
    const [mine, theirs] = ['attacks-mine', 'attacks-theirs']
    const own = await newApp({ registration_namespace: mine })
    const both = await newApp({ registration_namespace: theirs, read_namespaces: [mine] })
    const { visitor, user } = await buildVisitor(own)
    await service.login(user.email, both.code)
    expect(await ask(visitor, both)).toBe('a code')
    // Somebody else registers the address in the pool that comes first there, and proves the mailbox.
    const closer = await newApp({ registration_namespace: theirs })
    const other = (await service.register(user.email, closer.code)).body.user
    const now = service.deps.clock()
    const proven = { email_verified_at: now, first_verified_at: now, mailbox_proven_at: now }
    for (const id of [other.id, user.id]) await service.deps.db('users').where({ id }).update(proven)
    expect(await ask(visitor, both)).toBe('This account is not known here')
    expect(await ask(visitor, own)).toBe('a code')
  })

  test('silent entry needs a user who has entered before and whom the gate admits', async () => {
    const { visitor, user } = await buildVisitor()
    const closed = await newApp({ auto_grant_on_signup: false })
    const open = await newApp()
    expect(await ask(visitor, closed)).toBe('You don’t have access yet')
    expect(await ask(visitor, open)).toBe(`Continue to ${open.code}`)
    // An app learns the same of a stranger and of a person who never entered it.
    for (const browser of [visit(service), visitor])
      for (const app of [closed, open]) expect(await ask(browser, app, { prompt: 'none' })).toBe('login_required')
    await service.login(user.email, open.code)
    expect(await ask(visitor, open)).toBe('a code')
    await service.admin('DELETE', `/admin/users/${user.id}/apps/${open.id}`)
    expect(await ask(visitor, open)).not.toBe('a code')
    expect(await ask(visitor, open, { prompt: 'none' })).toBe('login_required')
    await closeAccount(service, user.id, 'suspended')
    expect(await ask(visitor, shop)).toBe('Sign in')
  })

  test('silent entry asks for one of several organizations, and takes the one that was asked for', async () => {
    const app = await newApp()
    const { visitor, user } = await buildVisitor(app)
    const [one, two] = [await buildOrganization(service), await buildOrganization(service)]
    const foreign = await buildOrganization(service)
    await addMember(service, one.id, user.id, ['org_admin'])
    await addMember(service, two.id, user.id, ['org_admin'])
    expect(await ask(visitor, app)).toBe('Choose an organization')
    expect(await ask(visitor, app, { prompt: 'none' })).toBe('interaction_required')
    expect(await ask(visitor, app, { organization_id: one.id })).toBe('a code')
    expect(await ask(visitor, app, { organization_id: foreign.id })).toBe('You are not a member of this organization')
    const asked = askFor(app)
    const page = await visitor.get(asked.path)
    const refused = await visitor.send(page, 'Continue', { organization_id: foreign.id })
    expect(refused.app).toBeUndefined()
    const arrival = await visitor.send(page, 'Continue', { organization_id: two.id })
    const { body } = await exchange(service, app, asked, arrival.app)
    expect(claimsOf(body.access_token).org_id).toBe(two.id)
  })

  test('a GET writes nothing, and a silent entry writes only its code', async () => {
    const { visitor, user } = await buildVisitor()
    const closed = await newApp({ auto_grant_on_signup: false })
    const open = await newApp()
    const stranger = visit(service)
    const before = await everyRow(service)
    const paths = [shop, closed, open].flatMap((app) =>
      [undefined, 'none', 'login', 'create'].map((prompt) => askFor(app, { prompt }).path),
    )
    for (const path of [...paths, '/oauth/logout', '/.well-known/oauth-authorization-server', '/oauth/authorize'])
      await fetchAs(stranger, path)
    for (const path of paths.filter((path) => !path.includes(`client_id=${shop.code}`))) await fetchAs(visitor, path)
    for (const prompt of ['login', 'create']) await fetchAs(visitor, askFor(shop, { prompt }).path)
    await fetchAs(visitor, '/oauth/logout')
    // Programs that inspect a link before a person follows it send HEAD.
    expect((await fetchAs(visitor, askFor(shop).path, { method: 'HEAD' })).status).toBe(405)
    expect(await everyRow(service)).toEqual(before)

    expect((await fetchAs(visitor, askFor(shop).path)).headers.get('location')).toContain('code=')
    const after = await everyRow(service)
    const changed = Object.keys(after).filter((table) => after[table]!.join() !== before[table]!.join())
    expect(changed).toEqual(['authorization_codes'])
    expect(after.authorization_codes!.length).toBe(before.authorization_codes!.length + 1)
    expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: open.id })).toBe(0)
  })

  test('a code that nobody exchanges gives no grant, and its exchange gives one', async () => {
    const { visitor, user } = await buildVisitor()
    const open = await newApp()
    const asked = askFor(open)
    const arrival = await visitor.send(await visitor.get(asked.path), 'Continue')
    expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: open.id })).toBe(0)
    expect((await exchange(service, open, asked, arrival.app)).status).toBe(200)
    expect(await countRows(service, 'user_apps', { user_id: user.id, app_id: open.id })).toBe(1)
  })

  test('an app that administers the service demands a proof of the last ten minutes', async () => {
    const code = 'attacks-admin'
    const own = freezeClock(await buildService({ AUTH_ADMIN_APP_CODES: `authctl,${code}` }))
    const body = { code, name: code, allowed_redirect_urls: ['https://admin.example/cb'], auto_grant_on_signup: true }
    const admin = (await own.admin('POST', '/admin/apps', { body })).body
    const { user } = await buildUser(own, admin)
    const visitor = visit(own)
    await signInOnPage(visitor, askFor(admin), user.email)
    own.advance(600)
    expect(await ask(visitor, admin)).toBe('a code')
    own.advance(1)
    expect(await ask(visitor, admin)).toBe(`Continue to ${code}`)
    expect(await ask(visitor, admin, { prompt: 'none' })).toBe('interaction_required')
  })
})

describe('codes', () => {
  /** A code that was just sent to the shop. */
  async function buildCode() {
    const { visitor, user } = await buildVisitor()
    const asked = askFor(shop)
    const { app: at } = await visitor.get(asked.path)
    return { visitor, user, asked, at }
  }
  const refresh = (token: string, client_id: string) =>
    fetch(`${service.url}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token, client_id }),
    })

  test.each<[string, (asked: { verifier: string }) => Record<string, string | undefined>]>([
    ['another app', () => ({ client_id: forum.code })],
    ['an unknown app', () => ({ client_id: 'no-such-app' })],
    ['another redirect URL of the app', () => ({ redirect_uri: 'http://127.0.0.1/cb' })],
    ['a redirect URL that differs in a slash', () => ({ redirect_uri: 'https://shop.example/callback/' })],
    ['another verifier', () => ({ code_verifier: 'x'.repeat(43) })],
    [
      'the challenge as verifier',
      ({ verifier }) => ({ code_verifier: createHash('sha256').update(verifier).digest('base64url') }),
    ],
  ])('%s gets nothing for a code, and spends it', async (_, changes) => {
    const { user, asked, at } = await buildCode()
    const before = await countRows(service, 'sessions', { user_id: user.id })
    const refused = await exchange(service, shop, asked, at, changes(asked))
    expect(['invalid_grant', 'invalid_client']).toContain(refused.body.error)
    expect((await exchange(service, shop, asked, at)).body.error).toBe('invalid_grant')
    expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(before)
  })

  test('codes are worthless once the app has stopped allowing the redirect URL that they were sent to', async () => {
    const [kept, dropped] = ['https://kept.example/cb', 'https://dropped.example/cb']
    const app = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [kept, dropped] })
    const { user } = await buildUser(service, app)
    const sentTo = async (redirect_uri: string) => {
      const asked = askFor(app, { redirect_uri })
      return { asked, at: (await signInOnPage(visit(service), asked, user.email)).app }
    }
    const [early, late, other] = [await sentTo(dropped), await sentTo(dropped), await sentTo(kept)]
    expect((await exchange(service, app, early.asked, early.at)).status).toBe(200)
    await service.admin('PATCH', `/admin/apps/${app.code}`, { body: { allowed_redirect_urls: [kept] } })
    const refused = await exchange(service, app, late.asked, late.at)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    expect((await exchange(service, app, other.asked, other.at)).status).toBe(200)
  })

  test.each([
    ['42 characters', 'v'.repeat(42)],
    ['129 characters', 'v'.repeat(129)],
    ['a letter of another alphabet', `${'v'.repeat(43)}+`],
  ])('a verifier with %s is refused, even if the challenge is the right one', async (_, code_verifier) => {
    const { user } = await buildUser(service, shop)
    const asked = askFor(shop, { code_challenge: createHash('sha256').update(code_verifier).digest('base64url') })
    const { app: at } = await signInOnPage(visit(service), asked, user.email)
    const refused = await exchange(service, shop, asked, at, { code_verifier })
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
  })

  test.each(['code_verifier', 'redirect_uri', 'client_id', 'code', 'grant_type'])(
    'an exchange without %s is refused, and leaves the code unspent',
    async (name) => {
      const { asked, at } = await buildCode()
      expect((await exchange(service, shop, asked, at, { [name]: undefined })).status).toBe(400)
      expect((await exchange(service, shop, asked, at, { [name]: '' })).status).toBe(400)
      expect((await exchange(service, shop, asked, at)).status).toBe(200)
    },
  )

  test('a code of an attacker that is planted in the browser of a victim fits no verifier there', async () => {
    const { at } = await buildCode()
    const victims = askFor(shop)
    expect((await exchange(service, shop, victims, at)).body).toMatchObject({ error: 'invalid_grant' })
  })

  test('a code that is used again ends the session of its first use', async () => {
    const { user, asked, at } = await buildCode()
    const first = await exchange(service, shop, asked, at)
    expect(first.status).toBe(200)
    expect((await exchange(service, shop, asked, at)).body.error).toBe('invalid_grant')
    expect((await service.call('GET', '/auth/me', { token: first.body.access_token })).body.code).toBe('token_revoked')
    expect((await refresh(first.body.refresh_token, shop.code)).status).toBe(400)
    const [event] = await auditEvents(service, { event: 'code.reused', user_id: user.id })
    expect(event.details.session_id).toBeDefined()
  })

  test('a code is valid for sixty seconds, and using it again after that ends no session', async () => {
    const { asked, at } = await buildCode()
    service.advance(60)
    expect((await exchange(service, shop, asked, at)).body.error).toBe('invalid_grant')
    const second = await buildCode()
    service.advance(59)
    const { body } = await exchange(service, shop, second.asked, second.at)
    service.advance(2)
    expect((await exchange(service, shop, second.asked, second.at)).body.error).toBe('invalid_grant')
    expect((await refresh(body.refresh_token, shop.code)).status).toBe(200)
  })

  test('a refresh token works only for its own app', async () => {
    const { asked, at } = await buildCode()
    const { body } = await exchange(service, shop, asked, at)
    const elsewhere = await refresh(body.refresh_token, forum.code)
    expect(((await elsewhere.json()) as Json).error).toBe('invalid_grant')
    expect((await refresh(body.refresh_token, shop.code)).status).toBe(200)
  })

  test('the session of a code does not count as a fresh proof, so changes to the account need credentials', async () => {
    const { asked, at } = await buildCode()
    const { access_token: token } = (await exchange(service, shop, asked, at)).body
    expect((await service.call('POST', '/auth/2fa/setup', { token })).body.code).toBe('fresh_login_required')
    const given = await service.call('POST', '/auth/2fa/setup', { token, body: { password: PASSWORD } })
    expect(given.status).toBe(200)
  })

  test('a proof that is forged into a token with the shared secret changes the answer of no route', async () => {
    const { asked, at } = await buildCode()
    const { access_token: token, refresh_token } = (await exchange(service, shop, asked, at)).body
    service.advance(60)
    const claims = claimsOf(token)
    const forged = forgeToken({
      ...claims,
      auth_time: Math.floor(service.deps.clock() / 1000),
      amr: ['pwd', 'otp', 'swk', 'mfa'],
      proven_at: service.deps.clock(),
    })
    const answers = async (token: string) => {
      const found: Record<string, unknown> = {}
      for (const { method, path, auth } of listRoutes()) {
        // Of these the first use would change the answer to the second.
        if (auth === 'public' || path === '/auth/logout-all' || path.endsWith('/stream')) continue
        const body = method === 'GET' ? {} : { body: {} }
        const reply = await service.call(method, path.replace(/\{\w+\}/g, anyId), { token, ...body })
        found[`${method} ${path}`] = [reply.status, reply.body?.code]
      }
      return found
    }
    const genuine = await answers(token)
    expect(genuine['POST /auth/2fa/setup']).toEqual([403, 'fresh_login_required'])
    expect(genuine['GET /auth/me']).toEqual([200, undefined])
    expect(await answers(forged)).toEqual(genuine)
    const renewed = claimsOf(((await (await refresh(refresh_token, shop.code)).json()) as Json).access_token)
    expect([renewed.auth_time, renewed.amr]).toEqual([claims.auth_time, claims.amr])
    // What a token leaves out takes nothing away either.
    const { auth_time: _, amr: __, ...without } = claimsOf((await buildUser(service, shop)).access_token)
    expect((await service.call('POST', '/auth/2fa/setup', { token: forgeToken(without) })).status).toBe(200)
  })
  const anyId = '0190a0a0-0000-7000-8000-000000000000'

  test('an app session ends at the maximum age of a session, counted from the first sign-in in the browser', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    await signInOnPage(visitor, askFor(shop), user.email, { keep: 'yes' })
    const { started_at } = await service.deps.db('browser_sessions').where({ user_id: user.id }).first()
    service.advance(5 * 86_400)
    const asked = askFor(shop)
    await exchange(service, shop, asked, (await visitor.get(asked.path)).app)
    const [row] = await service.deps.db('sessions').where({ user_id: user.id }).whereNotNull('browser_session_id')
    expect(row.expires_at).toBe(Number(started_at) + service.deps.config.sessionMaxSeconds * 1000)
  })

  test('the answer names the issuer of the metadata, in success and in error', async () => {
    const metadata = (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Json
    const { at } = await buildCode()
    const refused = await visit(service).get(askFor(shop, { prompt: 'none' }).path)
    expect(metadata.authorization_response_iss_parameter_supported).toBe(true)
    expect([at?.searchParams.get('iss'), refused.app?.searchParams.get('iss')]).toEqual([metadata.issuer, metadata.issuer])
    expect(metadata).toMatchObject({ request_parameter_supported: false, request_uri_parameter_supported: false })
    expect(metadata.code_challenge_methods_supported).toEqual(['S256'])
    expect(metadata.response_types_supported).toEqual(['code'])
  })
})

describe('tickets between the first and the second factor', () => {
  async function begin(app: Json = shop) {
    const { user, access_token } = await buildUser(service, app)
    const phone = await enableTwoFactor(service, access_token)
    const visitor = visit(service)
    const asked = askFor(app)
    const page = await signInOnPage(visitor, asked, user.email)
    expect(page.title).toBe('Enter your code')
    return { user, phone, visitor, asked, page, token: access_token }
  }
  const sessionsOf = (user: Json) => countRows(service, 'browser_sessions', { user_id: user.id })

  test('a ticket signs nobody in without a code', async () => {
    const { user, phone, visitor, page } = await begin()
    expect(cookieOf(visitor, 'session')).toBe('')
    expect((await visitor.send(page, 'Continue', { two_factor_code: '' })).title).toBe('Enter your code')
    expect((await visitor.send(page, 'Continue', { two_factor_code: phone.wrongCode() })).title).toBe('Enter your code')
    expect(await sessionsOf(user)).toBe(0)
    expect((await visitor.send(page, 'Continue', { two_factor_code: phone.code() })).app).toBeDefined()
  })

  test('a ticket works even if another person has signed in in another tab, and nobody enters in between', async () => {
    const { user, access_token } = await buildUser(service, shop)
    const authenticator = await enableTwoFactor(service, access_token)
    const other = await buildUser(service, shop)
    const visitor = visit(service)
    const [first, second] = [askFor(shop), askFor(shop)]
    const page = await visitor.get(first.path)
    await signInOnPage(visitor, second, other.user.email)
    const halfWay = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
    expect([halfWay.app, halfWay.title]).toEqual([undefined, 'Enter your code'])
    const arrival = await visitor.send(halfWay, 'Continue', { two_factor_code: authenticator.code() })
    expect((await exchange(service, shop, first, arrival.app)).body.user.id).toBe(user.id)
  })

  test('a ticket works only once, whatever the code', async () => {
    const { user, phone, visitor, page } = await begin()
    expect((await visitor.send(page, 'Continue', { two_factor_code: phone.code() })).app).toBeDefined()
    const session = cookieOf(visitor, 'session')
    service.advance(30)
    await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
    expect(cookieOf(visitor, 'session')).toBe(session)
    expect(await sessionsOf(user)).toBe(1)
  })

  test('a ticket expires after five minutes', async () => {
    const { user, phone, visitor, page } = await begin()
    service.advance(301)
    const late = await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
    expect(late.title).toBe('Sign in')
    expect(late.html).toContain('That took too long. Sign in again.')
    expect(await sessionsOf(user)).toBe(0)
  })

  test('a ticket is worthless in another browser', async () => {
    const { user, phone, page } = await begin()
    const other = visit(service)
    await other.get(askFor(shop).path)
    expect((await other.send(page, 'Continue', { two_factor_code: phone.code() })).title).toBe('Sign in')
    const own = await other.get(askFor(shop).path)
    const values = { step: 'two_factor', two_factor_code: phone.code(), resume: page.forms[0]!.values.resume ?? '' }
    await other.send(own, 'Sign in', values)
    expect(await sessionsOf(user)).toBe(0)
  })

  test('a ticket is worthless for another request of the same browser', async () => {
    const { user, phone, visitor, page } = await begin()
    for (const asked of [askFor(shop), askFor(forum)]) {
      const other = await visitor.get(asked.path)
      const values = { step: 'two_factor', two_factor_code: phone.code(), resume: page.forms[0]!.values.resume ?? '' }
      expect((await visitor.send(other, 'Sign in', values)).title).toBe('Sign in')
    }
    expect(await sessionsOf(user)).toBe(0)
  })

  test.each<[string, (given: { user: Json; token: string }) => Promise<unknown>]>([
    ['the password was changed', ({ token }) => changePassword(token)],
    ['all sessions were ended', ({ user }) => service.admin('POST', `/admin/users/${user.id}/logout`)],
    ['the user was suspended', ({ user }) => closeAccount(service, user.id, 'suspended')],
    ['the user was deleted', ({ user }) => closeAccount(service, user.id, 'deleted')],
  ])('the second step fails if %s meanwhile', async (_, happen) => {
    const { user, phone, visitor, page, token } = await begin()
    await happen({ user, token })
    const arrival = await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
    expect(arrival.app).toBeUndefined()
    expect(await sessionsOf(user)).toBe(0)
  })
  const changePassword = async (token: string) =>
    expect(
      (
        await service.call('POST', '/auth/password/change', {
          token,
          body: { current_password: PASSWORD, new_password: `${PASSWORD} new` },
        })
      ).status,
    ).toBeLessThan(300)

  test('wrong codes lock the second factor on the page as they do at the API, and a lock bars both', async () => {
    const { user, phone, visitor, page } = await begin()
    for (let i = 0; i < service.deps.config.lockoutThreshold; i += 1)
      await visitor.send(page, 'Continue', { two_factor_code: phone.wrongCode() })
    const locked = await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
    expect(locked.html).toContain('locked')
    const atApi = await service.login(user.email, shop.code, { two_factor_code: phone.code() })
    expect(atApi.body.code).toBe('account_locked')
    expect(await sessionsOf(user)).toBe(0)
  })
})

describe('a page that was left open', () => {
  test('a form that is an hour old offers to start again with the same request', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const asked = askFor(shop)
    const page = await visitor.get(asked.path)
    service.advance(3_601)
    const late = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
    expect(late).toMatchObject({ status: 400, title: 'This page is too old' })
    const [, href = ''] = /href="([^"]*)"/.exec(late.html) ?? []
    const again = await visitor.get(href.replaceAll('&#38;', '&'))
    const arrival = await visitor.send(again, 'Sign in', { email: user.email, password: PASSWORD })
    expect(arrival.app?.searchParams.get('state')).toBe(asked.state)
    expect((await exchange(service, shop, asked, arrival.app)).status).toBe(200)
  })

  test('two tabs each end at their own app, in either order', async () => {
    const { user } = await buildUser(service, shop)
    await service.login(user.email, forum.code)
    const visitor = visit(service)
    const [atShop, atForum] = [askFor(shop), askFor(forum)]
    const [first, second] = [await visitor.get(atShop.path), await visitor.get(atForum.path)]
    const credentials = { email: user.email, password: PASSWORD }
    const arrivals = [await visitor.send(second, 'Sign in', credentials), await visitor.send(first, 'Sign in', credentials)]
    expect(arrivals.map(({ app }) => app?.hostname)).toEqual(['forum.example', 'shop.example'])
    expect(arrivals.map(({ app }) => app?.searchParams.get('state'))).toEqual([atForum.state, atShop.state])
    expect((await exchange(service, forum, atForum, arrivals[0]!.app)).status).toBe(200)
    expect((await exchange(service, shop, atShop, arrivals[1]!.app)).status).toBe(200)
  })

  test('twenty reloads show the same page and leave the form usable', async () => {
    const { user } = await buildUser(service, shop)
    const visitor = visit(service)
    const asked = askFor(shop)
    const first = await visitor.get(asked.path)
    for (let i = 0; i < 20; i += 1) expect((await visitor.get(asked.path)).title).toBe('Sign in')
    expect(visitor.cookies.size).toBe(1)
    expect((await visitor.send(first, 'Sign in', { email: user.email, password: PASSWORD })).app).toBeDefined()
  })

  test('a page that names one person does not enter the app as another one who signed in meanwhile', async () => {
    const { visitor } = await buildVisitor()
    const open = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://x.example/cb'] })
    const page = await visitor.get(askFor(open).path)
    const { user: other } = await buildUser(service, shop)
    await signInOnPage(visitor, askFor(shop, { prompt: 'login' }), other.email)
    const arrival = await visitor.send(page, 'Continue')
    expect(arrival.app).toBeUndefined()
    expect(arrival.html).toContain(other.email)
  })
})

describe('disclosure to strangers', () => {
  test('a wrong password, an unknown address and an address of another pool look alike and cost alike', async () => {
    const own = await buildService()
    const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    const elsewhere = await buildApp(own, { auto_grant_on_signup: true, registration_namespace: 'elsewhere' })
    const hasher = await countBcrypts(own)
    const known = (await buildUser(own, app)).user.email
    const foreign = (await buildUser(own, elsewhere)).user.email
    const shown: string[] = []
    for (const email of [known, someEmail(), foreign]) {
      hasher.reset()
      const visitor = visit(own)
      const page = await visitor.get(askFor(app, { state: 'same', code_challenge: 'c'.repeat(43) }).path)
      const arrival = await visitor.send(page, 'Sign in', { email, password: 'not this password' })
      expect([hasher.verified, hasher.hashed]).toEqual([1, 0])
      shown.push(
        arrival.html
          .replaceAll(email, 'EMAIL')
          .replaceAll(/(name="(request|resume|passkey_challenge)" value|data-options)="[^"]*"/g, '$1'),
      )
    }
    expect(new Set(shown).size).toBe(1)
    expect(shown[0]).toContain('The e-mail address or the password is wrong.')
  })

  test('a refused password and a requested mail take the same statements and hashes for known and unknown addresses', async () => {
    const own = await buildService({ DB_POOL_MAX: '1' })
    const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    const elsewhere = await buildApp(own, { auto_grant_on_signup: true, registration_namespace: 'elsewhere' })
    const hasher = await countBcrypts(own)
    const statements = await traceStatements(own)
    hasher.onVerify = () => statements.push('a hash')
    const build = async (change: (built: Json) => unknown = () => {}, at = app) => {
      const built = await buildUser(own, at)
      await change(built)
      return built.user.email as string
    }
    const people: Record<string, () => Promise<string>> = {
      'a known address': build,
      'an unknown address': async () => someEmail(),
      'an address of another pool': () => build(undefined, elsewhere),
      'an account without a password': () =>
        build(({ user }) => own.deps.db('users').where({ id: user.id }).update({ password_hash: null })),
      'a suspended account': () => build(({ user }) => closeAccount(own, user.id, 'suspended')),
      'an account with a second factor': () => build(({ access_token }) => enableTwoFactor(own, access_token)),
    }
    const ways: Record<string, (email: string) => Promise<Arrival>> = {
      async 'a wrong password'(email) {
        const visitor = visit(own)
        return visitor.send(await visitor.get(askFor(app).path), 'Sign in', { email, password: 'not this password' })
      },
      async 'a code by e-mail'(email) {
        const visitor = visit(own)
        const page = await visitor.send(await visitor.get(askFor(app).path), 'E-mail me a code')
        return visitor.send(page, 'Send the code', { email })
      },
      async 'a new password'(email) {
        const visitor = visit(own)
        const page = await visitor.send(await visitor.get(askFor(app).path), 'Forgot password?')
        return visitor.send(page, 'Send the code', { email })
      },
    }
    for (const [way, take] of Object.entries(ways)) {
      const traces: Record<string, string[]> = {}
      for (const [who, someone] of Object.entries(people)) {
        const email = await someone()
        // The first call fills what the service keeps in memory.
        await take(someEmail())
        // The requests of one address that have an event of their own do not depend on whom they name.
        await own.deps.db('rate_limits').where('key', 'like', 'mail-audit:%').delete()
        statements.splice(0)
        await take(email)
        traces[who] = statements.splice(0)
      }
      const { 'a known address': known = [], ...others } = traces
      expect(known.length).toBeGreaterThan(3)
      expect(known.includes('a hash')).toBe(way === 'a wrong password')
      for (const [who, trace] of Object.entries(others)) expect(trace, `${way}, ${who}`).toEqual(known)
    }
  })

  test('wrong passwords on the page and at the API count together, and a lock bars both', async () => {
    const own = await buildService({ AUTH_LOCKOUT_THRESHOLD: '4', AUTH_RATE_LIMIT_ACCOUNT: 'off' })
    const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    const { user } = await buildUser(own, app)
    const visitor = visit(own)
    const tryPage = async (password: string) =>
      visitor.send(await visitor.get(askFor(app).path), 'Sign in', { email: user.email, password })
    for (let i = 0; i < 2; i += 1) {
      await tryPage('wrong password')
      await own.login(user.email, app.code, { password: 'wrong password' })
    }
    expect((await own.login(user.email, app.code)).body.code).toBe('account_locked')
    expect((await tryPage(PASSWORD)).html).toContain('This account is locked')
    expect(await countRows(own, 'browser_sessions')).toBe(0)
  })

  test('form steps of the page count toward the limit of an IP address like logins, and reloads do not', async () => {
    const own = await buildService({ AUTH_RATE_LIMIT_IP: '6/60' })
    const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    await own.deps.db('rate_limits').delete()
    const visitor = visit(own)
    for (let i = 0; i < 10; i += 1) expect((await visitor.get(askFor(app).path)).status).toBe(200)
    const page = await visitor.get(askFor(app).path)
    for (let i = 0; i < 3; i += 1) {
      await visitor.send(page, 'Sign in', { email: someEmail(), password: 'wrong' })
      expect((await own.login(someEmail(), app.code)).status).toBe(401)
    }
    const refused = await visitor.send(page, 'Sign in', { email: someEmail(), password: 'wrong' })
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).not.toBeNull()
    expect((await own.login(someEmail(), app.code)).status).toBe(429)
  })

  test('attempts for one e-mail address count together on the page and at the API', async () => {
    const own = await buildService({ AUTH_RATE_LIMIT_ACCOUNT: '3/60', AUTH_LOCKOUT_THRESHOLD: '1000' })
    const app = await buildApp(own, { auto_grant_on_signup: true, allowed_redirect_urls: ['https://shop.example/callback'] })
    const email = someEmail()
    const visitor = visit(own)
    const page = await visitor.get(askFor(app).path)
    for (let i = 0; i < 2; i += 1) await visitor.send(page, 'Sign in', { email, password: 'wrong' })
    await own.login(email, app.code)
    expect((await own.login(email, app.code)).status).toBe(429)
    expect((await visitor.send(page, 'Sign in', { email, password: 'wrong' })).html).toContain('Too many attempts')
  })
})

describe('a PUBLIC_URL with a path', () => {
  test('a PUBLIC_URL with a path switches the pages off', async () => {
    const own = await buildService({ PUBLIC_URL: 'https://example.com/login' })
    for (const path of ['/oauth/authorize', '/oauth/logout', '/account/passkeys', '/.well-known/oauth-authorization-server'])
      expect((await fetch(own.url + path)).status, path).toBe(404)
    for (const path of ['/oauth/authorize', '/oauth/logout', '/account/passkeys'])
      expect((await visit(own).post(own.url + path, {})).status, path).toBe(404)
  })
})
