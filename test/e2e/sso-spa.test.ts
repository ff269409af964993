// Third-party login of examples/browser-spa in a real Chromium: the page, a server, and a provider with its own pages.
import { createHash, randomUUID } from 'node:crypto'
import type { BrowserContext, Page, Response } from 'playwright-core'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { openBrowser, processOf } from '../support/browser.ts'
import { ADMIN_EMAIL, claimsOf, type Json, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { type Mailbox, startMailbox } from '../support/mail-server.ts'
import { CLIENT_ID, CLIENT_SECRET, type TestProvider } from '../support/oidc-server.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { startProvider } from '../support/provider.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { serveSpa } from '../support/spa.ts'
import { totpAt } from '../support/totp.ts'

const appCode = 'spa'
const patienceMs = 60_000
const browser = openBrowser()
const pageErrors: Error[] = []
let mailbox: Mailbox
let server: ServerInstance
let provider: TestProvider
let url: string

beforeAll(async () => {
  const database = await createDatabase('sqlite')
  onFileEnd(() => database.drop())
  mailbox = await startMailbox({}, onFileEnd)
  // The provider needs the callback address before the server listens.
  const port = await freePort()
  provider = await startProvider([`http://localhost:${port}/api/v1/auth/sso/acme/callback`], onFileEnd, { pages: true })
  server = await startInstance(
    {
      DATABASE_URL: database.url,
      PORT: String(port),
      SMTP_URL: mailbox.url,
      AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL,
      AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
    },
    onFileEnd,
  )
  url = await serveSpa({ authUrl: server.url, appCode, provider: 'acme' }, onFileEnd)
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  const app = { code: appCode, name: 'Example', auto_grant_on_signup: true, allowed_redirect_urls: [`${url}/`] }
  const client = { client_id: CLIENT_ID, client_secret: CLIENT_SECRET }
  const trust = { app_codes: [appCode], trusted_email_domains: ['example.com'] }
  const acme = { code: 'acme', issuer: provider.issuer, ...client, ...trust }
  expect(await server.call('POST', '/admin/apps', { body: app, token })).toMatchObject({ status: 201 })
  expect(await server.call('POST', '/admin/sso-providers', { body: acme, token })).toMatchObject({ status: 201 })
})

afterEach(() => {
  expect(pageErrors.splice(0)).toEqual([])
})

interface Account {
  email: string
  /** The id of the user at the provider. */
  subject: string
}

/** Creates an account at the provider. */
function someone(email = `${randomUUID()}@example.com`): Account {
  return { email, subject: provider.addAccount({ email, email_verified: true }) }
}

interface Member extends Account {
  id: string
  token: string
}

/** Creates an account that also has a password and a verified address here. */
async function buildMember(): Promise<Member> {
  const account = someone()
  const { email } = account
  const { body } = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: appCode } })
  const { token } = await mailbox.take(email)
  // The bearer proves that the account belongs to the mailbox, so that the provider links it and does not take it over.
  expect((await server.call('POST', '/auth/email/verify', { token: body.access_token, body: { token } })).status).toBe(200)
  return { ...account, id: body.user.id, token: body.access_token }
}

/** The requests of a login, in order: its starts, callbacks and returns to the page, and the exchanges of codes. */
interface Trace {
  starts: URL[]
  callbacks: URL[]
  returns: URL[]
  exchanges: { verifier: string; status: number }[]
}

async function openContext(): Promise<{ context: BrowserContext; trace: Trace }> {
  const context = await browser.newContext()
  // The provider's pages would load a font from the internet.
  await context.route(/^https:/, (route) => route.abort())
  const trace: Trace = { starts: [], callbacks: [], returns: [], exchanges: [] }
  context.on('request', (request) => noteNavigation(trace, new URL(request.url())))
  context.on('response', (response) => noteExchange(trace, response))
  return { context, trace }
}

function noteNavigation(trace: Trace, at: URL): void {
  if (at.pathname.endsWith('/start')) trace.starts.push(at)
  if (at.pathname.endsWith('/callback')) trace.callbacks.push(at)
  if (at.origin === url && at.searchParams.has('state')) trace.returns.push(at)
}

function noteExchange(trace: Trace, response: Response): void {
  const request = response.request()
  if (request.method() !== 'POST' || !request.url().endsWith('/auth/sso/token')) return
  trace.exchanges.push({ verifier: request.postDataJSON().code_verifier, status: response.status() })
}

async function openTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => void pageErrors.push(error))
  await page.goto(url)
  return page
}

/** Opens two tabs, each in a separate process. */
async function openTwoTabs(context: BrowserContext): Promise<Page[]> {
  const tabs = await Promise.all([openTab(context), openTab(context)])
  expect(new Set(await Promise.all(tabs.map(processOf))).size).toBe(2)
  return tabs
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })
const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Leaves for the provider's page. */
async function leave(page: Page): Promise<void> {
  await press(page, 'Continue with Acme')
  await heading(page, 'Sign-in').waitFor()
}

/** Logs in on the provider's page. */
async function logInThere(page: Page, { subject }: Account): Promise<void> {
  await page.getByPlaceholder('Enter any login').fill(subject)
  await page.getByPlaceholder('and password').fill('a password of the provider')
  await press(page, 'Sign-in')
}

async function goThroughProvider(page: Page, account: Account): Promise<void> {
  await leave(page)
  await logInThere(page, account)
  await press(page, 'Continue')
}

async function isSignedIn(page: Page, { email }: Account): Promise<void> {
  await heading(page, `Hello, ${email}`).waitFor()
  await page.getByText(`${email} (verified)`).waitFor()
}

async function isSignedOut(page: Page): Promise<void> {
  await heading(page, 'Sign in').waitFor()
}

const storedSession = (page: Page): Promise<Json> =>
  page.evaluate('JSON.parse(Object.entries(localStorage).find(([key]) => !key.endsWith(":device"))?.[1] ?? "null")')

test('a first login goes to the provider and returns signed in, with a clean address, and stays signed in', async () => {
  const account = someone()
  const { context, trace } = await openContext()
  const page = await openTab(context)
  await goThroughProvider(page, account)
  await isSignedIn(page, account)
  expect(page.url()).toBe(`${url}/`)
  expect(await page.evaluate('Object.values(sessionStorage)')).toEqual([])
  expect(trace.exchanges.map(({ status }) => status)).toEqual([200])
  const [started] = trace.starts
  expect(Object.fromEntries(started!.searchParams)).toEqual({
    app_code: appCode,
    redirect_url: `${url}/`,
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    state: expect.stringMatching(/^[\w-]{43}$/),
  })
  // The state that the service sends to the provider is not the state that the page sent to the service.
  expect(trace.callbacks[0]!.searchParams.get('state')).not.toBe(started!.searchParams.get('state'))
  await page.reload()
  await isSignedIn(page, account)
  await isSignedIn(await openTab(context), account)

  await page.getByText(/^Acme, since /).waitFor()
  await press(page, 'Unlink Acme')
  await page.getByRole('alert').getByText('This is your only way to sign in').waitFor()

  // The provider already knows the user and does not ask again.
  await press(page, 'Sign out')
  await isSignedOut(page)
  await press(page, 'Continue with Acme')
  await isSignedIn(page, account)
})

/** Checks that each exchange used the verifier of its own login. */
function expectOwnVerifiers({ starts, exchanges }: Trace, count: number): void {
  const challenges = starts.map(({ searchParams }) => searchParams.get('code_challenge'))
  const answered = exchanges.map(({ verifier }) => createHash('sha256').update(verifier).digest('base64url'))
  expect(new Set(challenges).size).toBe(count)
  expect(answered.toSorted()).toEqual(challenges.toSorted())
  expect(exchanges.map(({ status }) => status)).toEqual(starts.map(() => 200))
}

test('two tabs that start together each complete their own login, and one logout signs out both', async () => {
  const account = someone()
  const { context, trace } = await openContext()
  const tabs = await openTwoTabs(context)
  const [first, second] = tabs as [Page, Page]
  await Promise.all(tabs.map(leave))
  // The tab that started first returns last, after the other one is signed in. The provider asks for consent only once.
  await logInThere(second, account)
  await press(second, 'Continue')
  await isSignedIn(second, account)
  await logInThere(first, account)
  await isSignedIn(first, account)
  // The other tab had already signed this one in, so its own login may still be in progress.
  await expect.poll(() => trace.exchanges.length, { interval: 10, timeout: patienceMs }).toBe(2)
  expectOwnVerifiers(trace, 2)

  const { accessToken } = await storedSession(first)
  await isSignedIn(second, account)
  await press(second, 'Sign out')
  for (const tab of tabs) await isSignedOut(tab)
  await expect
    .poll(async () => (await server.call('GET', '/auth/me', { token: accessToken })).body.code, {
      interval: 10,
      timeout: patienceMs,
    })
    .toBe('token_revoked')
})

test('two tabs whose logins end at the same time share one session, and both continue', async () => {
  const account = someone()
  const { context, trace } = await openContext()
  const held: (() => Promise<void>)[] = []
  await context.route('**/auth/sso/token', (route) => void held.push(() => route.continue()))
  const tabs = await openTwoTabs(context)
  const [first, second] = tabs as [Page, Page]
  await Promise.all(tabs.map(leave))
  await logInThere(first, account)
  await press(first, 'Continue')
  await logInThere(second, account)
  await expect.poll(() => held.length, { interval: 10, timeout: patienceMs }).toBe(2)
  await Promise.all(held.map((go) => go()))
  await expect.poll(() => trace.exchanges.length, { interval: 10, timeout: patienceMs }).toBe(2)
  expectOwnVerifiers(trace, 2)
  for (const tab of tabs) await isSignedIn(tab, account)
  for (const tab of tabs) await tab.reload()
  for (const tab of tabs) await isSignedIn(tab, account)
  const { accessToken } = await storedSession(first)
  const sessions = async () => (await server.call('GET', '/auth/sessions', { token: accessToken })).body.items
  await expect.poll(sessions, { interval: 10, timeout: patienceMs }).toMatchObject([{ id: claimsOf(accessToken).sid }])
})

test('a denied consent is reported in words, and the next attempt logs in', async () => {
  const account = someone()
  const { context, trace } = await openContext()
  const page = await openTab(context)
  await leave(page)
  await logInThere(page, account)
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.getByRole('alert').getByText('The provider did not sign you in.').waitFor()
  await isSignedOut(page)
  expect(page.url()).toBe(`${url}/`)
  expect(trace.exchanges).toEqual([])

  await press(page, 'Continue with Acme')
  await press(page, 'Continue')
  await isSignedIn(page, account)
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('an answer that is repeated by the back button or the history does no harm', async () => {
  const account = someone()
  const { context, trace } = await openContext()
  const page = await openTab(context)
  await leave(page)
  await page.goBack()
  await goThroughProvider(page, account)
  await isSignedIn(page, account)
  await page.goBack()
  await page.goForward()
  await isSignedIn(page, account)

  const [callback, back] = [trace.callbacks.at(-1)!, trace.returns.at(-1)!]
  await page.goto(callback.href)
  await page.getByRole('heading', { name: 'was answered before' }).waitFor()
  await page.getByText('Start the login again').waitFor()
  for (const tab of [page, await context.newPage()]) {
    await tab.goto(back.href)
    await isSignedIn(tab, account)
    await tab.getByRole('alert').getByText('That sign-in was not begun here').waitFor()
    expect(tab.url()).toBe(`${url}/`)
  }
  expect(trace.exchanges.map(({ status }) => status)).toEqual([200])
  const { refreshToken } = await storedSession(page)
  const refreshed = await server.call('POST', '/auth/refresh', { body: { refresh_token: refreshToken } })
  expect(refreshed.status).toBe(200)
})

test("a link with the answer to another person's login signs nobody in", async () => {
  const attacker = await openContext()
  // Keep the returned code unspent, for the victim.
  await attacker.context.route(/[?]code=/, (route) => (route.request().url().startsWith(url) ? route.abort() : route.continue()))
  await goThroughProvider(await openTab(attacker.context), someone())
  await expect.poll(() => attacker.trace.returns.length, { interval: 10, timeout: patienceMs }).toBe(1)

  const victim = await openContext()
  const page = await openTab(victim.context)
  await page.goto(attacker.trace.returns[0]!.href)
  await page.getByRole('alert').getByText('That sign-in was not begun here').waitFor()
  await isSignedOut(page)
  expect(page.url()).toBe(`${url}/`)
  expect(victim.trace.exchanges).toEqual([])
})

test('a first login of an existing user links the account, and asks for the second factor', async () => {
  const member = await buildMember()
  const { token } = member
  const { secret } = (await server.call('POST', '/auth/2fa/setup', { token })).body
  // Use the code of the previous step, so that the current one is unspent.
  const code = (steps: number) => totpAt(secret, Date.now() + steps * 30_000)
  expect((await server.call('POST', '/auth/2fa/activate', { token, body: { code: code(-1) } })).status).toBe(200)

  const { context, trace } = await openContext()
  const page = await openTab(context)
  await goThroughProvider(page, member)
  await heading(page, 'One more step').waitFor()
  expect(page.url()).toBe(`${url}/`)
  expect(await storedSession(page)).toBeNull()
  await page.getByLabel('Code').fill('000000')
  await press(page, 'Continue')
  await page.getByRole('alert').getByText('That code is not the one').waitFor()
  await page.getByLabel('Code').fill(code(0))
  await press(page, 'Continue')
  await isSignedIn(page, member)
  expect((await storedSession(page)).user.id).toBe(member.id)
  expect(trace.exchanges.map(({ status }) => status)).toEqual([401, 401, 200])
  await mailbox.take(member.email, /^A way to sign in to .* was added$/)

  await press(page, 'Unlink Acme')
  await page.getByRole('button', { name: 'Unlink Acme' }).waitFor({ state: 'detached' })
  expect((await server.call('GET', '/auth/identities', { token: (await storedSession(page)).accessToken })).body.items).toEqual(
    [],
  )
})

test('the whole login needs only a keyboard', async () => {
  const account = someone()
  const { context } = await openContext()
  const page = await openTab(context)
  const { keyboard } = page
  const tabTo = async (name: string) => {
    const focused = () => page.evaluate('document.activeElement.textContent')
    for (let presses = 0; (await focused()) !== name && presses < 10; presses += 1) await keyboard.press('Tab')
    expect(await focused()).toBe(name)
  }
  await isSignedOut(page)
  await tabTo('Continue with Acme')
  await keyboard.press('Enter')
  await heading(page, 'Sign-in').waitFor()
  await keyboard.type(account.subject)
  await keyboard.press('Tab')
  await keyboard.type('a password of the provider')
  await keyboard.press('Enter')
  await heading(page, 'Authorize').waitFor()
  await tabTo('Continue')
  await keyboard.press('Enter')
  await isSignedIn(page, account)
  // The focus is on the heading of the new page.
  expect(await page.evaluate('document.activeElement.id')).toBe('account-heading')
  await tabTo('Sign out')
  await keyboard.press('Space')
  await isSignedOut(page)
})
