// docs/sign-users-in/step-up.md in a real Chromium: a page whose API asks for a fresh proof, on its own origin and on another one.

import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createAuth } from '@gatehouse/sdk'
import { requireAuth } from '@gatehouse/sdk/node'
import type { Page } from 'playwright-core'
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import {
  ACCESS_SECRET,
  ADMIN_EMAIL,
  bootstrapAdmin,
  claimsOf,
  type Json,
  PASSWORD,
  someEmail,
  testDatabase,
} from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { totpAt } from '../support/totp.ts'

const dist = fileURLToPath(new URL('../../packages/sdk/dist/', import.meta.url))
const browser = openBrowser()
const pageErrors: Error[] = []
let server: ServerInstance
let authUrl: string
let origin: string
/** The same API at another origin: `127.0.0.1` instead of `localhost`. */
let elsewhere: string
let adminToken: string

const html = () => `<!doctype html><meta charset="utf-8"><title>Bank</title>
<script type="importmap">{"imports":{"@gatehouse/sdk/browser":"/sdk/browser.js"}}</script>
<button id="sign-in">Sign in</button> <button id="here">Transfer</button> <button id="there">Transfer elsewhere</button>
<button id="hidden">Transfer in hiding</button> <p id="who"></p> <p id="result"></p>
<script type="module">
  import { createBrowserAuth } from '@gatehouse/sdk/browser'
  const element = (id) => document.getElementById(id)
  const auth = createBrowserAuth({ authUrl: '${authUrl}', appCode: 'bank', apiOrigins: ['${elsewhere}'] })
  const show = () => { element('who').textContent = auth.state.user ? 'Hello, ' + auth.state.user.email : 'Nobody is signed in' }
  const attempt = async (action) => {
    try { return await action() } catch ({ code, message }) { element('result').textContent = code + ': ' + message }
  }
  auth.subscribe(show)
  const transfer = (url) => attempt(async () => {
    const response = await auth.fetch(url, { method: 'POST', body: '{}' })
    if (await auth.stepUp(response, { returnTo: '/?to=7' })) return
    element('result').textContent = await response.text()
  })
  element('sign-in').onclick = () => attempt(() => auth.signIn())
  element('here').onclick = () => transfer('/api/transfers')
  element('there').onclick = () => transfer('${elsewhere}/api/transfers')
  element('hidden').onclick = () => transfer('${elsewhere}/api/hidden')
  const back = await attempt(() => auth.handleRedirect())
  if (back) history.replaceState(null, '', back.returnTo)
  show()
</script>`

beforeAll(async () => {
  const database = await createDatabase(testDatabase())
  onFileEnd(() => database.drop())
  server = await startInstance({ DATABASE_URL: database.url, PORT: String(await freePort()), ...bootstrapAdmin }, onFileEnd)
  authUrl = server.url.replace('127.0.0.1', 'localhost')
  adminToken = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token

  const settings = { authUrl, appCode: 'bank', secret: ACCESS_SECRET, check: 'off', revocation: { mode: 'off' } } as const
  const guard = requireAuth(createAuth({ ...settings, logger: false }), { maxAgeSec: 300, amr: 'mfa' })
  const transfer = guard((_, response) => response.end('transferred'))
  const bank = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, origin)
    if (pathname.startsWith('/sdk/')) {
      response.setHeader('content-type', 'text/javascript')
      return void response.end(await readFile(join(dist, basename(pathname))))
    }
    if (!pathname.startsWith('/api/')) return void response.setHeader('content-type', 'text/html').end(html())
    response.setHeader('access-control-allow-origin', origin).setHeader('access-control-allow-headers', 'authorization')
    if (pathname === '/api/transfers') response.setHeader('access-control-expose-headers', 'WWW-Authenticate')
    if (request.method === 'OPTIONS') return void response.end()
    await transfer(request, response)
  }).listen(0, '127.0.0.1')
  onFileEnd(async () => void bank.close())
  await new Promise((resolve) => bank.once('listening', resolve))
  const { port } = bank.address() as AddressInfo
  origin = `http://localhost:${port}`
  elsewhere = `http://127.0.0.1:${port}`
  const app = { code: 'bank', name: 'Bank', auto_grant_on_signup: true, allowed_redirect_urls: [`${origin}/callback`] }
  expect(await server.call('POST', '/admin/apps', { body: app, token: adminToken })).toMatchObject({ status: 201 })
})

afterEach(() => {
  expect(pageErrors.splice(0)).toEqual([])
})

interface Account {
  email: string
  token: string
  /** Turns on the second factor. */
  enrol(): Promise<void>
  code(): string
}

async function buildAccount(): Promise<Account> {
  const email = someEmail()
  const { body } = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'bank' } })
  const token = body.access_token
  let secret = ''
  // Each code is good once: the one of the step before for turning it on, and then the current one.
  const codeAt = (steps: number) => totpAt(secret, Date.now() + steps * 30_000)
  return {
    email,
    token,
    async enrol() {
      secret = (await server.call('POST', '/auth/2fa/setup', { token })).body.secret
      expect((await server.call('POST', '/auth/2fa/activate', { token, body: { code: codeAt(-1) } })).status).toBe(200)
    },
    code: () => codeAt(0),
  }
}

async function openTab(): Promise<Page> {
  const context = await browser.newContext()
  onTestFinished(async () => context.close())
  const page = await context.newPage()
  page.on('pageerror', (error) => void pageErrors.push(error))
  await page.goto(origin)
  return page
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const shows = (page: Page, text: string) => page.getByText(text).waitFor()

async function showPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Sign in')
}

async function showCode(page: Page, account: Account): Promise<void> {
  await page.getByLabel('Two-factor code').fill(account.code())
  await press(page, 'Continue')
}

/** The token that the page keeps. */
const tokenIn = (page: Page): Promise<string> =>
  page.evaluate('JSON.parse(Object.entries(localStorage).find(([key]) => /^gatehouse:.*\\/v1$/.test(key))[1]).accessToken')
const claimsIn = async (page: Page): Promise<Json> => claimsOf(await tokenIn(page))

test('a page goes for a code if an API of another origin asks for it, and returns with a new session', async () => {
  const account = await buildAccount()
  const page = await openTab()
  await press(page, 'Sign in')
  await showPassword(page, account.email)
  await shows(page, `Hello, ${account.email}`)
  const before = await claimsIn(page)
  expect(before.amr).toEqual(['pwd'])
  await account.enrol()

  await press(page, 'Transfer in hiding')
  await shows(page, 'config_invalid: The API must send Access-Control-Expose-Headers: WWW-Authenticate')
  await press(page, 'Transfer elsewhere')
  expect(await page.getByLabel('E-mail address').inputValue()).toBe(account.email)
  await showPassword(page, account.email)
  await showCode(page, account)
  await shows(page, `Hello, ${account.email}`)
  await expect.poll(() => page.url()).toBe(`${origin}/?to=7`)
  const after = await claimsIn(page)
  expect(after.amr).toEqual(['pwd', 'otp', 'mfa'])
  expect(after.sid).not.toBe(before.sid)
  for (const button of ['Transfer', 'Transfer elsewhere', 'Transfer in hiding']) {
    await press(page, button)
    await shows(page, 'transferred')
    await page.evaluate('document.getElementById("result").textContent = ""')
  }
  // The session of before has ended.
  const sessions = (await server.call('GET', '/auth/sessions', { token: await tokenIn(page) })).body.items
  expect(sessions.map(({ id }: Json) => id)).not.toContain(before.sid)
})

test('another person who proves their identity there does not become signed in', async () => {
  const [first, second] = [await buildAccount(), await buildAccount()]
  const page = await openTab()
  await press(page, 'Sign in')
  await showPassword(page, first.email)
  await shows(page, `Hello, ${first.email}`)
  const before = await claimsIn(page)
  await second.enrol()
  // The browser session at the service is gone, as after an hour without use.
  await page.context().clearCookies()
  await press(page, 'Transfer')
  await showPassword(page, second.email)
  await showCode(page, second)
  await shows(page, 'user_mismatch')
  await shows(page, `Hello, ${first.email}`)
  expect((await claimsIn(page)).sid).toBe(before.sid)
  const { status } = await server.call('GET', '/auth/me', { token: await tokenIn(page) })
  expect(status).toBe(200)
})
