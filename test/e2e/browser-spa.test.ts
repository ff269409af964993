// examples/browser-spa in a real Chromium, built as for production, against a server and the backend of examples/koa-api.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { openBrowser, processOf } from '../support/browser.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, claimsOf, type Json, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { serveSpa } from '../support/spa.ts'
import { totpAt } from '../support/totp.ts'

const examples = fileURLToPath(new URL('../../examples/', import.meta.url))
const root = join(examples, 'browser-spa')
const browser = openBrowser()
const stops: (() => unknown)[] = []
const pageErrors: Error[] = []
const appCode = 'spa'
let server: ServerInstance
let adminToken: string
let apiUrl: string
let url: string

beforeAll(async () => {
  const stop = async () => {
    for (const stop of stops.reverse()) await stop()
  }
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return stop
})

afterEach(() => {
  expect(pageErrors.splice(0)).toEqual([])
})

async function start(): Promise<void> {
  const database = await createDatabase('sqlite')
  stops.push(() => database.drop())
  const settings = {
    DATABASE_URL: database.url,
    AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL,
    AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
  }
  server = await startInstance(settings, (stop) => void stops.push(stop))
  adminToken = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const app = { code: appCode, name: 'Example', auto_grant_on_signup: true }
  expect(await server.call('POST', '/admin/apps', { body: app, token: adminToken })).toMatchObject({ status: 201 })
  apiUrl = await startApi()
  url = await serve(server.url)
}

/** Serves the page for a service and returns its address. */
const serve = (authUrl: string) => serveSpa({ authUrl, appCode, apiUrl }, (stop) => void stops.push(stop))

/** Starts the backend that the page calls, and returns its address. */
async function startApi(): Promise<string> {
  const environment = { SERVICE_AUTH_URL: server.url, SERVICE_APP_CODE: appCode, JWT_ACCESS_SECRET: ACCESS_SECRET, PORT: '0' }
  const { output, shows } = startProgram(process.execPath, [join(examples, 'koa-api', 'server.ts')], environment)
  await shows('listening on ')
  return /listening on (\S+)/.exec(output())![1]!
}

/** Starts a program, which is killed after the last test of the file. */
function startProgram(program: string, words: readonly string[], environment: Record<string, string> = {}) {
  const child = spawn(program, words, {
    cwd: root,
    env: { PATH: process.env.PATH, NO_COLOR: '1', ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  stops.push(() => child.kill('SIGKILL'))
  let output = ''
  const shows = (wanted: string) =>
    new Promise<void>((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`${program} ended with ${code}: ${output}`)))
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (output.includes(wanted)) resolve()
      })
    })
  return { output: () => output, shows }
}

interface Account {
  email: string
  id: string
}

async function buildAccount(): Promise<Account> {
  const email = `${randomUUID()}@example.com`
  const { body } = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: appCode } })
  return { email, id: body.user.id }
}

async function openTab(context: BrowserContext): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => void pageErrors.push(error))
  await page.goto(url)
  return page
}

/** The visible field with this label. */
const field = (page: Page, label: string) => page.getByLabel(label).filter({ visible: true })
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name })

async function signIn(page: Page, { email }: Account): Promise<void> {
  await field(page, 'E-mail').fill(email)
  await field(page, 'Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

async function isSignedIn(page: Page, { email }: Account): Promise<void> {
  await heading(page, `Hello, ${email}`).waitFor()
}

async function isSignedOut(page: Page): Promise<void> {
  await heading(page, 'Sign in').waitFor()
}

/** Opens signed-in tabs of an account in one browser profile, each in a separate process. */
async function openSignedInTabs(
  account: Account,
  count: number,
  context?: BrowserContext,
): Promise<{ context: BrowserContext; tabs: Page[] }> {
  const shared = context ?? (await browser.newContext())
  const first = await openTab(shared)
  await signIn(first, account)
  await isSignedIn(first, account)
  const others = await Promise.all(Array.from({ length: count - 1 }, () => openTab(shared)))
  for (const tab of others) await isSignedIn(tab, account)
  const tabs = [first, ...others]
  expect(new Set(await Promise.all(tabs.map(processOf))).size).toBe(count)
  return { context: shared, tabs }
}

/** Lets the access token expire, as far as these tabs can tell. */
async function advance(tabs: readonly Page[], minutes: number): Promise<void> {
  const now = Date.now() + minutes * 60_000
  for (const tab of tabs) await tab.clock.setSystemTime(now)
}

async function askApi(page: Page, { email }: Account): Promise<void> {
  await page.getByRole('button', { name: 'Ask the API' }).click()
  await page.getByText(`200: hello ${email}`).waitFor()
}

/**
 * Asks the API until it refuses: one question could come before the API has heard of the end. The page may learn of it first, from a
 * call of its own, and then no longer offers to ask.
 */
async function askUntilEnded(page: Page): Promise<void> {
  const ended = page.getByText('Your session has ended').waitFor()
  await Promise.race([ended, page.getByLabel('keep asking').check()])
  await ended
}

const countRefreshes = (context: BrowserContext) => {
  const statuses: number[] = []
  context.on('response', (response) => {
    if (response.url().endsWith('/auth/refresh')) statuses.push(response.status())
  })
  return statuses
}

const storedSession = (page: Page): Promise<Json> =>
  page.evaluate('JSON.parse(Object.entries(localStorage).find(([key]) => !key.endsWith(":device"))?.[1] ?? "null")')

test('npm start in the folder of the example serves the page and the SDK that it imports', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [program, ...words] = scripts.start.split(' ')
  const { output, shows } = startProgram(join(root, 'node_modules', '.bin', program), [...words, '--port', '0'])
  await shows('Local:')
  const address = /http:\/\/127\.0\.0\.1:\d+/.exec(output())![0]
  expect(await (await fetch(address)).text()).toContain('<title>Gatehouse example</title>')
  const script = await (await fetch(`${address}/main.js`)).text()
  const [, imported] = /from "([^"]*browser[^"]*)"/.exec(script)!
  expect((await fetch(address + imported)).status).toBe(200)
})

test('the README of the example shows only commands that run here, in the root README and in CI', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))
  expect(commands).toEqual([
    'npm run build',
    'npm start',
    'export SERVICE_AUTH_URL=http://127.0.0.1:4000 SERVICE_APP_CODE=shop',
    'export JWT_ACCESS_SECRET="$(cat .gatehouse/jwt-access-secret)"',
    'node scripts/run.mjs exec node examples/koa-api/server.ts',
    'cd examples/browser-spa',
    'npm start',
    'npm run -s authctl -- grant revoke --app shop --user you@example.com@@default --yes',
  ])
})

test('a user who registers is signed in, also after a reload and in every tab', async () => {
  const context = await browser.newContext()
  const page = await openTab(context)
  await page.getByRole('link', { name: 'Create one' }).click()
  await field(page, 'First name').fill('Ada')
  await field(page, 'E-mail').fill(`${randomUUID()}@example.com`)
  await field(page, 'Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create account' }).click()
  await heading(page, 'Hello, Ada').waitFor()
  await page.getByText('base_user').waitFor()
  await page.reload()
  await heading(page, 'Hello, Ada').waitFor()
  await heading(await openTab(context), 'Hello, Ada').waitFor()
})

/**
 * Moves the tabs' clock until their tokens have expired, and lets all of them ask for a new one before any request is answered.
 * Resolves when each tab has called the API.
 */
async function raceToRefresh(
  { context, tabs }: { context: BrowserContext; tabs: readonly Page[] },
  account: Account,
  minutes: number,
  requests: number,
): Promise<void> {
  const held: (() => Promise<void>)[] = []
  let isHeld = true
  const release = async () => {
    isHeld = false
    for (const go of held.splice(0)) await go()
  }
  await context.route('**/auth/refresh', (route) => {
    if (isHeld) held.push(() => route.continue())
    else return route.continue()
  })
  // Only after the route is set, because a page that is still loading refreshes on its own.
  await advance(tabs, minutes)
  for (const tab of tabs) await tab.getByRole('button', { name: 'Ask the API' }).click()
  await expect.poll(() => held.length, { interval: 10 }).toBe(requests)
  await release()
  for (const tab of tabs) await tab.getByText(`200: hello ${account.email}`).waitFor()
  await context.unroute('**/auth/refresh')
}

test('tabs whose token expires at the same time refresh once, and each keeps its session', async () => {
  const account = await buildAccount()
  const { context, tabs } = await openSignedInTabs(account, 2)
  const refreshes = countRefreshes(context)
  for (let round = 1; round <= 4; round += 1) {
    await raceToRefresh({ context, tabs }, account, 15 * round, 1)
    for (const tab of tabs) await tab.reload()
    for (const tab of tabs) await isSignedIn(tab, account)
    expect(refreshes).toEqual(Array.from({ length: round }, () => 200))
  }
})

/** Delays what a tab sees of other tabs' storage beyond their messages and locks, as happens between processes. */
const seeStorageLate = `{
  const { getItem, setItem, removeItem } = Storage.prototype
  const seen = new Map()
  const see = (storage, key, value) => storage === localStorage && seen.set(key, { value })
  Storage.prototype.getItem = function (key) {
    if (this !== localStorage) return getItem.call(this, key)
    if (!seen.has(key)) see(this, key, getItem.call(this, key))
    return seen.get(key).value
  }
  Storage.prototype.setItem = function (key, value) {
    setItem.call(this, key, value)
    see(this, key, value)
  }
  Storage.prototype.removeItem = function (key) {
    removeItem.call(this, key)
    see(this, key, null)
  }
  addEventListener('storage', (event) => {
    if (!event.isTrusted) return
    event.stopImmediatePropagation()
    const { key, newValue } = event
    const before = seen.get(key)
    setTimeout(() => {
      // What this tab has stored since is newer.
      if (seen.get(key) === before) see(localStorage, key, newValue)
      dispatchEvent(new StorageEvent('storage', { key, newValue }))
    }, 200)
  })
}`

async function openLateTabs(account: Account): Promise<{ context: BrowserContext; tabs: Page[] }> {
  const context = await browser.newContext()
  await context.addInitScript(seeStorageLate)
  return openSignedInTabs(account, 2, context)
}

test("tabs that see each other's storage late refresh only once", async () => {
  const account = await buildAccount()
  const { context, tabs } = await openLateTabs(account)
  const refreshes = countRefreshes(context)
  for (const round of [1, 2]) {
    await raceToRefresh({ context, tabs }, account, 15 * round, 1)
    // Reload, so that the next round does not find the answer of this one.
    for (const tab of tabs) await tab.reload()
    for (const tab of tabs) await isSignedIn(tab, account)
    expect(refreshes).toEqual(Array.from({ length: round }, () => 200))
  }
})

test("tabs that see each other's storage late follow a logout, with its reason, and a login", async () => {
  const account = await buildAccount()
  const { tabs } = await openLateTabs(account)
  const here = tabs[0]!
  await here.getByRole('button', { name: 'Sign out', exact: true }).click()
  for (const tab of tabs) await isSignedOut(tab)
  await signIn(here, account)
  for (const tab of tabs) await isSignedIn(tab, account)
  const revoked = await server.call('DELETE', `/admin/users/${account.id}/apps/${appCode}`, { token: adminToken })
  expect(revoked.status).toBe(200)
  await askUntilEnded(here)
  for (const tab of tabs) await tab.getByText('Your session has ended').waitFor()
})

test('concurrent tabs keep the session in a browser without locks', async () => {
  const account = await buildAccount()
  const context = await browser.newContext()
  await context.addInitScript('Object.defineProperty(navigator, "locks", { value: undefined })')
  const { tabs } = await openSignedInTabs(account, 3, context)
  const refreshes = countRefreshes(context)
  for (const round of [1, 2]) {
    await raceToRefresh({ context, tabs }, account, 15 * round, tabs.length)
    for (const tab of tabs) await tab.reload()
    expect(refreshes).toEqual(Array.from({ length: round * tabs.length }, () => 200))
  }
  for (const tab of tabs) await askApi(tab, account)
})

test('a tab that is frozen during a refresh does not delay others, and continues afterwards', async () => {
  const account = await buildAccount()
  const { context, tabs } = await openSignedInTabs(account, 2)
  const [frozen, other] = tabs as [Page, Page]
  const asked = new Promise<() => Promise<void>>((resolve) => {
    void frozen.route('**/auth/refresh', (route) => resolve(() => route.continue()), { times: 1 })
  })
  await advance(tabs, 15)
  await frozen.getByRole('button', { name: 'Ask the API' }).click()
  const goOn = await asked
  const session = await context.newCDPSession(frozen)
  await session.send('Page.setWebLifecycleState', { state: 'frozen' })
  await askApi(other, account)
  await session.send('Page.setWebLifecycleState', { state: 'active' })
  await goOn()
  await frozen.getByText(`200: hello ${account.email}`).waitFor()
  for (const tab of tabs) await tab.reload()
  for (const tab of tabs) await isSignedIn(tab, account)
  for (const tab of tabs) await askApi(tab, account)
})

test('a tab that closes before the answer to its refresh leaves the session to the others', async () => {
  const account = await buildAccount()
  const { tabs } = await openSignedInTabs(account, 2)
  const [closed, other] = tabs as [Page, Page]
  const answered = new Promise<void>((resolve) => {
    void closed.route('**/auth/refresh', async (route) => {
      expect((await route.fetch()).status()).toBe(200)
      resolve()
    })
  })
  await advance(tabs, 15)
  await closed.getByRole('button', { name: 'Ask the API' }).click()
  await answered
  await closed.close()
  await askApi(other, account)
  await other.reload()
  await isSignedIn(other, account)
})

test('a clock that jumps back and forth in one tab ends the session of no tab', async () => {
  const account = await buildAccount()
  const { context, tabs } = await openSignedInTabs(account, 2)
  const [jumping, steady] = tabs as [Page, Page]
  const refreshes = countRefreshes(context)
  for (const minutes of [-60, 60, -525_600, 525_600, 0]) {
    await advance([jumping], minutes)
    await jumping.reload()
    await askApi(jumping, account)
    await steady.reload()
    await askApi(steady, account)
  }
  expect(new Set(refreshes)).toEqual(new Set([200]))
  for (const tab of tabs) await isSignedIn(tab, account)
})

test('clearing the storage, even during a refresh, signs out every tab for good', async () => {
  const account = await buildAccount()
  const { tabs } = await openSignedInTabs(account, 2)
  const [clearing, refreshing] = tabs as [Page, Page]
  const asked = new Promise<() => Promise<void>>((resolve) => {
    void refreshing.route('**/auth/refresh', (route) => resolve(() => route.continue()), { times: 1 })
  })
  await advance(tabs, 15)
  await refreshing.getByRole('button', { name: 'Ask the API' }).click()
  const goOn = await asked
  await clearing.evaluate('localStorage.clear()')
  await isSignedOut(refreshing)
  const answered = refreshing.waitForResponse('**/auth/refresh')
  await goOn()
  await answered
  await clearing.getByRole('button', { name: 'Ask the API' }).click()
  for (const tab of tabs) await isSignedOut(tab)
  expect(await storedSession(clearing)).toBeNull()
  for (const tab of tabs) await tab.reload()
  for (const tab of tabs) await isSignedOut(tab)
})

test('each tab keeps its own session if the browser forbids storage, and a logout signs out all tabs', async () => {
  const [one, two] = [await buildAccount(), await buildAccount()]
  const context = await browser.newContext()
  await context.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
    Object.defineProperty(window, name, { get() { throw new DOMException('forbidden', 'SecurityError') } })`)
  const [first, second] = [await openTab(context), await openTab(context)]
  await signIn(first, one)
  await isSignedIn(first, one)
  await isSignedOut(second)
  await signIn(second, two)
  await isSignedIn(second, two)
  await askApi(first, one)
  await askApi(second, two)
  await first.getByRole('button', { name: 'Sign out', exact: true }).click()
  for (const tab of [first, second]) await isSignedOut(tab)
  await signIn(first, one)
  await isSignedIn(first, one)
  await first.reload()
  await isSignedOut(first)
})

test('a logout in one tab signs out the other, and ends the session at the service', async () => {
  const account = await buildAccount()
  const { tabs } = await openSignedInTabs(account, 2)
  const { refreshToken, accessToken } = await storedSession(tabs[0]!)
  await tabs[0]!.getByRole('button', { name: 'Sign out', exact: true }).click()
  for (const tab of tabs) await isSignedOut(tab)
  expect(await storedSession(tabs[1]!)).toBeNull()
  await expect
    .poll(async () => (await server.call('GET', '/auth/me', { token: accessToken })).body.code, { interval: 10 })
    .toBe('token_revoked')
  const refreshed = await server.call('POST', '/auth/refresh', { body: { refresh_token: refreshToken } })
  expect(refreshed.body.code).toBe('invalid_refresh_token')
})

test('signing out everywhere reaches another device with its next call', async () => {
  const account = await buildAccount()
  const [here, there] = [await openSignedInTabs(account, 1), await openSignedInTabs(account, 1)]
  await here.tabs[0]!.getByRole('button', { name: 'Sign out everywhere' }).click()
  await isSignedOut(here.tabs[0]!)
  await askUntilEnded(there.tabs[0]!)
  await isSignedOut(there.tabs[0]!)
})

test('a revocation signs out every tab within four calls of its backend, a second at four calls a second', async () => {
  const account = await buildAccount()
  const { context, tabs } = await openSignedInTabs(account, 2)
  const [asking, idle] = tabs as [Page, Page]
  await asking.getByLabel('keep asking').check()
  await asking.getByText(`200: hello ${account.email}`).waitFor()
  const answers: number[] = []
  context.on('response', (response) => {
    if (new URL(response.url()).pathname === '/api/') answers.push(response.status())
  })
  const revoked = await server.call('DELETE', `/admin/users/${account.id}/apps/${appCode}`, { token: adminToken })
  expect(revoked.status).toBe(200)
  for (const tab of [asking, idle]) await isSignedOut(tab)
  expect(answers.at(-1)).toBe(401)
  expect(answers.length).toBeLessThanOrEqual(4)
})

test('the user stays signed in without a network and sees it, and everything continues afterwards', async () => {
  const account = await buildAccount()
  const { context, tabs } = await openSignedInTabs(account, 2)
  const [page] = tabs as [Page, Page]
  await context.setOffline(true)
  for (const tab of tabs) await tab.getByText('Offline, still signed in').waitFor()
  await advance(tabs, 15)
  await page.getByRole('button', { name: 'Ask the API' }).click()
  await page.getByText('No answer: The login service cannot be reached').waitFor()
  await isSignedIn(page, account)
  await context.setOffline(false)
  for (const tab of tabs) await tab.getByText('Signed in', { exact: true }).waitFor()
  for (const tab of tabs) await askApi(tab, account)
})

test('the session survives a refresh whose answer is lost', async () => {
  const account = await buildAccount()
  const { tabs } = await openSignedInTabs(account, 1)
  const page = tabs[0]!
  const before = await storedSession(page)
  let lost = 0
  await page.route('**/auth/refresh', async (route) => {
    lost += 1
    if (lost > 1) return route.continue()
    expect((await route.fetch()).status()).toBe(200)
    await route.abort()
  })
  await advance(tabs, 15)
  await askApi(page, account)
  expect(lost).toBe(2)
  const after = await storedSession(page)
  expect(claimsOf(after.accessToken).sid).toBe(claimsOf(before.accessToken).sid)
  await advance(tabs, 30)
  await askApi(page, account)
})

test('a login with a second factor needs only a keyboard', async () => {
  const account = await buildAccount()
  const token = (await server.login(account.email, appCode)).body.access_token
  const { secret } = (await server.call('POST', '/auth/2fa/setup', { token })).body
  // Use the code of the previous step, so that the current one is unspent.
  const code = (steps: number) => totpAt(secret, Date.now() + steps * 30_000)
  expect((await server.call('POST', '/auth/2fa/activate', { token, body: { code: code(-1) } })).status).toBe(200)

  const page = await openTab(await browser.newContext())
  const { keyboard } = page
  await isSignedOut(page)
  // The page has focused the first field.
  await keyboard.type(account.email)
  await keyboard.press('Tab')
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await heading(page, 'One more step').waitFor()
  await keyboard.type('000000')
  await keyboard.press('Enter')
  await page.getByRole('alert').getByText('That code is not the one').waitFor()
  await keyboard.press('ControlOrMeta+a')
  await keyboard.type(code(0))
  await keyboard.press('Enter')
  await isSignedIn(page, account)
  await page.getByText('Two-factor').waitFor()

  const focused = () => page.evaluate('document.activeElement.textContent')
  for (let tabs = 0; (await focused()) !== 'Ask the API' && tabs < 10; tabs += 1) await keyboard.press('Tab')
  await keyboard.press('Space')
  await page.getByText(`200: hello ${account.email}`).waitFor()
  for (let tabs = 0; (await focused()) !== 'Sign out' && tabs < 10; tabs += 1) await keyboard.press('Tab')
  await keyboard.press('Enter')
  await isSignedOut(page)
})

test('a wrong password is reported in words, and announced to screen readers', async () => {
  const page = await openTab(await browser.newContext())
  await field(page, 'E-mail').fill('nobody@example.com')
  await field(page, 'Password').fill('not the password')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('alert').getByText('E-mail or password is wrong.').waitFor()
})

test('a redirect to another origin does not carry the token', async () => {
  const seen: Json[] = []
  const elsewhere = await listen((request, response) => {
    seen.push({ method: request.method, authorization: request.headers.authorization })
    response.writeHead(200, { 'access-control-allow-origin': '*', 'access-control-allow-headers': 'authorization' }).end('{}')
  })
  const account = await buildAccount()
  const { tabs } = await openSignedInTabs(account, 1)
  await tabs[0]!.route('**/api/', (route) => route.fulfill({ status: 307, headers: { location: `${elsewhere}/` } }))
  await tabs[0]!.getByRole('button', { name: 'Ask the API' }).click()
  await tabs[0]!.getByText(/^(200|No answer)/).waitFor()
  expect(seen.length).toBeGreaterThan(0)
  for (const { authorization } of seen) expect(authorization).toBeUndefined()
})

/** Listens until the last test of the file has ended, and returns the address. */
async function listen(handle: Parameters<typeof createServer>[1]): Promise<string> {
  const listening: Server = createServer(handle)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  stops.push(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}`
}
