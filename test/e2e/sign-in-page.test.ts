// The sign-in page in a real Chromium: apps that are separate servers on different host names, tabs, Back, a page left open,
// no scripts, a provider, a server that freezes, and two servers behind a proxy.
import { createHash, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { BrowserContext, Page } from 'playwright-core'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { startBalancer } from '../support/balancer.ts'
import { openBrowser } from '../support/browser.ts'
import { callHttp, type Json, PASSWORD, someEmail } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { fixture, serviceFixture } from '../support/fixtures.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { buildSsoProvider, startProvider } from '../support/provider.ts'
import { startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, buildUser } from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const browser = openBrowser()

/** An app as a developer writes one: a server of its own, on a host name of its own. */
interface App {
  code: string
  url: string
}

/** Leads to the page at `/`, exchanges the code at `/callback`, and shows who came. */
async function startApp(code: string, host: string, signInUrl: () => string): Promise<App> {
  const verifiers = new Map<string, string>()
  const server = createServer(async (request, response) => {
    const asked = new URL(request.url ?? '/', url)
    const show = (text: string) => {
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
      response.end(`<!doctype html><title>${code}</title><h1>${text}</h1>`)
    }
    if (asked.pathname === '/') {
      const [verifier, state] = [randomBytes(32).toString('base64url'), randomBytes(8).toString('hex')]
      verifiers.set(state, verifier)
      const query = new URLSearchParams({
        client_id: code,
        redirect_uri: `${url}/callback`,
        response_type: 'code',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state,
        ...Object.fromEntries(asked.searchParams),
      })
      response.writeHead(302, { location: `${signInUrl()}/oauth/authorize?${query}` }).end()
    } else if (asked.pathname === '/callback') {
      const { code: given, state, error } = Object.fromEntries(asked.searchParams)
      if (error !== undefined) return show(`${code} says ${error}`)
      const body = new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: code,
        redirect_uri: `${url}/callback`,
        code: given ?? '',
        code_verifier: verifiers.get(state ?? '') ?? '',
      })
      const reply = await fetch(`${signInUrl()}/oauth/token`, { method: 'POST', body })
      const tokens = (await reply.json()) as Json
      show(reply.ok ? `${code} knows ${tokens.user.email}` : `${code} got ${tokens.error}`)
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onFileEnd(async () => void server.close())
  const url = `http://${host}:${(server.address() as AddressInfo).port}`
  return { code, url }
}

const unnamed = serviceFixture({}, { frozen: true })
/** A service that browsers know as `localhost`. */
const service = fixture(async () => {
  unnamed.deps.config.publicUrl = unnamed.url.replace('127.0.0.1', 'localhost')
  return unnamed
})
const urlOfService = () => service.deps.config.publicUrl

const appFixture = (code: string, host: string, settings: Record<string, unknown> = { auto_grant_on_signup: true }): App =>
  fixture(async () => {
    const app = await startApp(code, host, urlOfService)
    const body = { code, name: `The ${code}`, allowed_redirect_urls: [`${app.url}/callback`], ...settings }
    expect((await service.admin('POST', '/admin/apps', { body })).status).toBe(201)
    return app
  })
const shop = appFixture('shop', 'localhost')
const forum = appFixture('forum', 'forum.localhost')

const gallery = appFixture('gallery', 'gallery.localhost')
/** A provider at another origin, by http. */
const acme = fixture(async () => {
  const started = await startProvider([`${urlOfService()}/api/v1/auth/sso/acme/callback`], onFileEnd, { pages: true })
  await buildSsoProvider(service, 'acme', { issuer: started.issuer, app_codes: [gallery.code] })
  return started
})

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1, exact: true }).waitFor()
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function fillIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

async function signIn(page: Page, app: App, email: string): Promise<void> {
  await page.goto(app.url)
  await heading(page, 'Sign in')
  await fillIn(page, email)
  await heading(page, `${app.code} knows ${email}`)
}

const isOnPostgres = process.env.TEST_DATABASE === 'postgres'
/** A profile of a browser, with scripts and without. The database makes no difference to that, so one of them also runs on the other. */
const profiles = [
  ['with scripts', true],
  ['without scripts', false],
] as const

describe.each(isOnPostgres ? profiles.slice(1) : profiles)('sign-in in a browser %s', (_, javaScriptEnabled) => {
  const newContext = (): Promise<BrowserContext> => browser.newContext({ javaScriptEnabled })

  test('two apps in two tabs each return to their own URL, and a third tab enters without a page', async () => {
    const { user } = await buildUser(service, shop)
    await service.login(user.email, forum.code)
    const context = await newContext()
    const [first, second] = [await context.newPage(), await context.newPage()]
    await first.goto(shop.url)
    await second.goto(forum.url)
    await heading(second, 'Sign in')
    await fillIn(second, user.email)
    await heading(second, `forum knows ${user.email}`)
    await fillIn(first, user.email)
    await heading(first, `shop knows ${user.email}`)
    expect([new URL(first.url()).host, new URL(second.url()).host]).toEqual([shop.url, forum.url].map((url) => new URL(url).host))
    const third = await context.newPage()
    await third.goto(forum.url)
    await heading(third, `forum knows ${user.email}`)
  })

  test('an app that the person has never used asks once, and then admits', async () => {
    const { user } = await buildUser(service, shop)
    const page = await (await newContext()).newPage()
    await signIn(page, shop, user.email)
    await page.goto(forum.url)
    await heading(page, 'Continue to The forum')
    await page.getByText(user.email).waitFor()
    await press(page, 'Continue')
    await heading(page, `forum knows ${user.email}`)
    await page.goto(forum.url)
    await heading(page, `forum knows ${user.email}`)
  })

  test('Back works after a wrong password, after the password, and from the app', async () => {
    const { user, access_token } = await buildUser(service, shop)
    const phone = await enableTwoFactor(service, access_token)
    const page = await (await newContext()).newPage()
    await page.goto(shop.url)
    await fillIn(page, user.email, 'a slip of the finger')
    await page.getByText('The e-mail address or the password is wrong.').waitFor()
    await page.goBack()
    await heading(page, 'Sign in')
    await fillIn(page, user.email)
    await heading(page, 'Enter your code')
    await page.goBack()
    await heading(page, 'Sign in')
    await page.goForward()
    await heading(page, 'Enter your code')
    await page.getByLabel('Two-factor code').fill(phone.wrongCode())
    await press(page, 'Continue')
    await page.getByText('is wrong or was already used').waitFor()
    await page.getByLabel('Two-factor code').fill(phone.code())
    await press(page, 'Continue')
    await heading(page, `shop knows ${user.email}`)
    // The step before goes on to the app again, since the person is signed in. The app has used its verifier and its code.
    await page.goBack()
    await page.waitForURL((url) => url.pathname === '/callback')
    await page.goto(shop.url)
    await heading(page, `shop knows ${user.email}`)
  })

  test('a page that was open for more than an hour starts again, and returns to its app', async () => {
    const { user } = await buildUser(service, shop)
    const page = await (await newContext()).newPage()
    await page.goto(shop.url)
    await heading(page, 'Sign in')
    service.advance(3_601)
    await fillIn(page, user.email)
    await heading(page, 'This page is too old')
    await page.getByRole('link', { name: 'Start again' }).click()
    await heading(page, 'Sign in')
    await fillIn(page, user.email)
    await heading(page, `shop knows ${user.email}`)
  })

  test('a provider signs in with its own page or without one, and "Keep me signed in" works', async () => {
    const email = someEmail()
    const subject = acme.addAccount({ email, email_verified: true })
    const context = await newContext()
    const page = await context.newPage()
    await page.goto(gallery.url)
    await page.getByLabel('Keep me signed in').check()
    await press(page, 'Continue with Acme')
    await page.waitForURL(`${acme.issuer}/**`)
    await page.locator('[name=login]').fill(subject)
    await page.locator('[name=password]').fill('any')
    await page.locator('button[type=submit]').click()
    await page.getByRole('button', { name: 'Continue', exact: true }).click()
    await heading(page, 'Create your account')
    await press(page, 'Create your account')
    await heading(page, `gallery knows ${email}`)
    const lasting = async () =>
      (await context.cookies(urlOfService())).filter(({ expires }) => expires > 0).map(({ name }) => name)
    expect(await lasting()).toContain('gatehouse_session')
    // The provider still knows the person, so that the form leads through all of them to the app.
    await context.clearCookies({ name: 'gatehouse_session' })
    await page.goto(gallery.url)
    await press(page, 'Continue with Acme')
    await heading(page, `gallery knows ${email}`)
    expect(await lasting()).not.toContain('gatehouse_session')
  })

  test('twenty reloads change nothing, and signing out asks first', async () => {
    const { user } = await buildUser(service, shop)
    const page = await (await newContext()).newPage()
    await page.goto(shop.url)
    for (let i = 0; i < 20; i += 1) await page.reload()
    await fillIn(page, user.email)
    await heading(page, `shop knows ${user.email}`)
    await page.goto(`${urlOfService()}/oauth/logout`)
    await press(page, 'Sign out')
    await heading(page, 'You are signed out')
    await page.goto(shop.url)
    await heading(page, 'Sign in')
  })
})

test.skipIf(isOnPostgres)('a page of another site cannot sign a browser in or out, and cannot frame the page', async () => {
  const { user } = await buildUser(service, shop)
  const evil = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end(`<title>evil</title><form method="post" action="${urlOfService()}/oauth/logout"><button>Win</button></form>
<iframe src="${urlOfService()}/oauth/logout"></iframe>`)
  })
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void evil.close())
  const page = await browser.newPage()
  await signIn(page, shop, user.email)
  await page.goto(`http://evil.localhost:${(evil.address() as AddressInfo).port}/`)
  for (const frame of page.frames().slice(1)) expect(await frame.content()).not.toContain('Sign out')
  await press(page, 'Win')
  await heading(page, 'This form is not ours')
  await page.goto(shop.url)
  await heading(page, `shop knows ${user.email}`)
})

test.runIf(isOnPostgres)('two servers behind a proxy share every step, and a server that freezes loses no step', async () => {
  const database = await createDatabase('postgres', inject('templates'))
  onTestFinished(() => database.drop())
  const upstream: string[] = []
  const balancer = await startBalancer(upstream)
  const publicUrl = balancer.url.replace('127.0.0.1', 'localhost')
  const settings = { DATABASE_URL: database.url, PUBLIC_URL: publicUrl, AUTH_TRUST_PROXY: '1', ...bootstrapAdmin }
  const freezing = await startServer(settings)
  const other = await startServer(settings)
  upstream.push(freezing.url, other.url)
  const app = await startApp('shop', 'localhost', () => publicUrl)
  const api = `${other.url}/api/v1`
  const token = (await other.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const created = { code: 'shop', name: 'Shop', auto_grant_on_signup: true, allowed_redirect_urls: [`${app.url}/callback`] }
  expect((await callHttp(`${api}/admin/apps`, 'POST', { body: created, token })).status).toBe(201)
  const email = someEmail()
  await callHttp(`${api}/auth/register`, 'POST', { body: { email, password: PASSWORD, app_code: 'shop' } })

  const page = await browser.newPage({ javaScriptEnabled: false })
  await signIn(page, app, email)
  await page.goto(`${app.url}/?prompt=login`)
  await heading(page, 'Sign in')
  freezing.signal('SIGSTOP')
  onTestFinished(() => freezing.signal('SIGCONT'))
  // The proxy takes a server out of its list that does not answer.
  upstream.splice(0, 1)
  await fillIn(page, email)
  await heading(page, `shop knows ${email}`)
})
