// Guards that ask for a fresh proof, and the pages that give it, against the real service. docs/sign-users-in/step-up.md describes it.
import { createAuth } from '@gatehouse/sdk'
import { BrowserAuthError } from '@gatehouse/sdk/browser'
import { createWebSession, getAuth } from '@gatehouse/sdk/web'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { buildAuth, buildPlatform } from '../../packages/sdk/src/browser/test-platform.ts'
import { stands } from '../../packages/sdk/src/test-servers.ts'
import { openBrowser } from '../../packages/sdk/src/web/test-browser.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { countRows } from '../support/rows.ts'
import { ACCESS_SECRET, buildApp, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { signInOnPage, type Visitor, visit } from '../support/sign-in-page.ts'
import { type Authenticator, enableTwoFactor, loginWithCode } from '../support/totp.ts'

const ORIGIN = 'https://app.example'
const unnamed = serviceFixture()
const service = fixture(async () => {
  unnamed.deps.config.publicUrl = unnamed.url
  return unnamed
})
let bank: Json
beforeAll(async () => {
  bank = await buildApp(service, { auto_grant_on_signup: true, allowed_redirect_urls: [`${ORIGIN}/callback`] })
})

const proof = { maxAgeSec: 300, amr: 'mfa' } as const
const challenge = 'Bearer realm="gatehouse", error="insufficient_user_authentication", max_age="300", acr_values="mfa"'

/** The verifier of a backend, by the clock of the service. */
function buildBackend() {
  const revocation = { mode: 'off' } as const
  const settings = { authUrl: service.url, appCode: bank.code, secret: ACCESS_SECRET, check: 'off', logger: false } as const
  const auth = createAuth({ ...settings, revocation, now: () => service.deps.clock() })
  onTestFinished(() => auth.close())
  return auth
}

/** A guarded API on a socket. Returns a call of it. */
async function serve(stand = stands['node:http']!) {
  const handle = () => ({ done: true })
  const routes = [{ path: '/transfers', guard: 'required', requirements: proof, handle }] as const
  const { port, close } = await stand.serve(buildBackend(), routes, [])
  onTestFinished(async () => void (await close()))
  return (token: string) => fetch(`http://127.0.0.1:${port}/transfers`, { headers: { authorization: `Bearer ${token}` } })
}

test.each(Object.entries(stands))(
  '%s: a password alone is refused with a challenge; a code is enough for five minutes, and a refresh does not extend that',
  async (_, stand) => {
    const ask = await serve(stand)
    const { user, access_token } = await buildUser(service, bank)
    const refused = await ask(access_token)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, challenge])
    expect(await refused.json()).toMatchObject({ code: 'insufficient_user_authentication' })

    const phone = await enableTwoFactor(service, access_token)
    const { body } = await loginWithCode(service, user, bank, phone.code())
    expect((await ask(body.access_token)).status).toBe(200)
    service.advance(310)
    const renewed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect((await ask(renewed.body.access_token)).status).toBe(401)
  },
)

test('a machine token is refused if a route asks for a proof', async () => {
  const app = await buildApp(service, { machine_tokens: true })
  const account = { name: 'nightly', service: app.code, scopes: ['tokens:issue'], app_codes: [app.code] }
  const { body } = await service.admin('POST', '/admin/service-accounts', { body: account })
  const grant = { grant_type: 'client_credentials', app_code: app.code }
  const issued = await service.call('POST', '/auth/token', { token: body.token, body: grant })
  const claims = claimsOf(issued.body.access_token)
  expect([claims.kind, claims.auth_time, claims.amr]).toEqual(['service', undefined, undefined])
  const settings = { authUrl: service.url, appCode: app.code, secret: ACCESS_SECRET, check: 'off', logger: false } as const
  const auth = createAuth({ ...settings, revocation: { mode: 'off' }, now: () => service.deps.clock() })
  const handle = () => ({ done: true })
  const routes = [
    { path: '/any', guard: 'required', requirements: { kind: 'any' }, handle },
    { path: '/proven', guard: 'required', requirements: { kind: 'any', ...proof }, handle },
  ] as const
  const { port, close } = await stands['node:http']!.serve(auth, routes, [])
  onTestFinished(async () => void (await close()))
  const headers = { authorization: `Bearer ${issued.body.access_token}` }
  const statusOf = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`, { headers })).status
  expect([await statusOf('/any'), await statusOf('/proven')]).toEqual([200, 401])
})

/** Answers the page with the code of the authenticator, after the password if it asks for that. */
async function proveOnPage(visitor: Visitor, path: string, user: Json, phone: Authenticator): Promise<URL> {
  let page = await visitor.get(path)
  if (page.title === 'Sign in') page = await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })
  expect(page.title).toBe('Enter your code')
  const { app } = await visitor.send(page, 'Continue', { two_factor_code: phone.code() })
  service.advance(30)
  return app!
}

describe('a step-up from a page', () => {
  const pathOf = (url: string) => new URL(url).pathname + new URL(url).search
  const liveSessions = (user: Json) => countRows(service, 'sessions', { user_id: user.id, ended_at: null })

  /** A tab whose user has signed in on the page by password, and has an authenticator since. */
  async function buildTab() {
    const { user, access_token } = await buildUser(service, bank)
    const visitor = visit(service)
    const platform = { ...buildPlatform(), now: () => service.deps.clock() }
    const auth = buildAuth(platform, { authUrl: service.url, appCode: bank.code })
    await auth.signIn()
    const begun = { path: pathOf(platform.assigned.at(-1)!), verifier: '', redirectUri: '', state: '' }
    const { app } = await signInOnPage(visitor, begun, user.email)
    await auth.handleRedirect(app!.href)
    const phone = await enableTwoFactor(service, access_token)
    const ask = await serve()
    const transfer = async () => ask(await auth.getAccessToken())
    const asked = () => new URL(platform.assigned.at(-1)!)
    return { user, visitor, platform, auth, phone, transfer, asked }
  }

  test('a page that asks for a code comes back with a session that passes, and the session before it ends', async () => {
    const { user, visitor, auth, phone, transfer, asked } = await buildTab()
    const before = await liveSessions(user)
    const refused = await transfer()
    expect(await auth.stepUp(refused, { returnTo: '/transfers' })).toBe(true)
    expect(asked().searchParams.get('login_hint')).toBe(user.email)
    const back = await proveOnPage(visitor, pathOf(asked().href), user, phone)
    expect(await auth.handleRedirect(back.href)).toEqual({ returnTo: '/transfers' })
    expect((await transfer()).status).toBe(200)
    await expect.poll(() => liveSessions(user)).toBe(before)

    const { auth_time } = claimsOf(await auth.getAccessToken())
    for (let renewals = 0; renewals < 10; renewals += 1) {
      service.advance(60)
      await auth.refresh()
      expect(claimsOf(await auth.getAccessToken())).toMatchObject({ auth_time, amr: ['pwd', 'otp', 'mfa'] })
    }
    const late = await transfer()
    expect(late.headers.get('www-authenticate')).toBe(challenge)
    // The proof of before is too old for the page, too.
    await auth.stepUp(late)
    const again = await proveOnPage(visitor, pathOf(asked().href), user, phone)
    await auth.handleRedirect(again.href)
    expect((await transfer()).status).toBe(200)
  })

  test('a step-up by another person does not sign them in, and their session ends', async () => {
    const { user, auth, transfer, asked } = await buildTab()
    await auth.stepUp(await transfer())
    const { user: other, access_token } = await buildUser(service, bank)
    const before = await liveSessions(other)
    const phone = await enableTwoFactor(service, access_token)
    const back = await proveOnPage(visit(service), pathOf(asked().href), other, phone)
    const failed = await auth.handleRedirect(back.href).catch((error: unknown) => error)
    expect(BrowserAuthError.is(failed, 'user_mismatch')).toBe(true)
    expect(auth.state).toMatchObject({ status: 'signed_in', user: { id: user.id } })
    await auth.refresh()
    await expect.poll(() => liveSessions(other)).toBe(before)
  })
})

test('a server-rendered app sends a browser to show a code and back, and a renewal makes no proof fresher', async () => {
  const session = createWebSession(buildBackend(), {
    redirectUrl: `${ORIGIN}/callback`,
    cookieSecret: 'a secret for cookies, of 32 characters or more',
  })
  const guards = { home: session.requireSession(), transfers: session.requireSession(proof) }
  const browser = openBrowser(async (request) => {
    const guard = request.url.includes('/transfers') ? guards.transfers : guards.home
    const handler = guard(async (request) => Response.json(getAuth(request).claims))
    return (await session.handle(request)) ?? handler(request, undefined)
  }, ORIGIN)
  /** Opens a page that leads to the sign-in page. Returns the way there. */
  const leave = async (path: string) => {
    const led = await browser.open(path)
    const start = await browser.open(led.headers.get('location')!)
    return start.headers.get('location')!
  }
  const arrive = (back: URL) => browser.open(back.pathname + back.search)

  const { user, access_token } = await buildUser(service, bank)
  const visitor = visit(service)
  const page = await visitor.get(await leave('/'))
  await arrive((await visitor.send(page, 'Sign in', { email: user.email, password: PASSWORD })).app!)
  expect((await browser.open('/')).status).toBe(200)

  const told = await browser.call('/transfers')
  expect([told.status, told.headers.get('www-authenticate')]).toEqual([401, challenge])
  const phone = await enableTwoFactor(service, access_token)
  const back = await arrive(await proveOnPage(visitor, await leave('/transfers?to=7'), user, phone))
  expect(back.headers.get('location')).toBe(`${ORIGIN}/transfers?to=7`)
  const shown = (await (await browser.open('/transfers?to=7')).json()) as Json
  expect(shown).toMatchObject({ uid: user.id, amr: ['pwd', 'otp', 'mfa'] })

  for (let renewals = 0; renewals < 10; renewals += 1) {
    service.advance(880)
    const renewed = await browser.open('/')
    expect(renewed.headers.getSetCookie().length).toBe(1)
    expect(await renewed.json()).toMatchObject({ auth_time: shown.auth_time })
  }
  expect((await browser.call('/transfers')).status).toBe(401)

  const { user: other, access_token: token } = await buildUser(service, bank)
  const way = await leave('/transfers')
  const foreign = await arrive(await proveOnPage(visit(service), way, other, await enableTwoFactor(service, token)))
  expect([foreign.status, await foreign.text()]).toEqual([400, expect.stringContaining('Somebody else has signed in')])
  expect(await (await browser.open('/')).json()).toMatchObject({ uid: user.id })
})
