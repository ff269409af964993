// examples/hosted-spa as two apps on two host names, in a real Chromium. Users sign in on the page of the service.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { BrowserContext, Page } from 'playwright-core'
import { afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { ADMIN_EMAIL, bootstrapAdmin, claimsOf, type Json, PASSWORD, testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { serveSpa } from '../support/spa.ts'

const root = fileURLToPath(new URL('../../examples/hosted-spa/', import.meta.url))
const browser = openBrowser()
const pageErrors: Error[] = []
const urls = { shop: '', notes: '' }
type AppCode = keyof typeof urls
let server: ServerInstance
/** Where the sign-in page is: `PUBLIC_URL`, by default. */
let pageOrigin: string
let adminToken: string

beforeAll(async () => {
  const database = await createDatabase(testDatabase())
  onFileEnd(() => database.drop())
  // The sign-in page is at `PUBLIC_URL`, so the port must be known before the start.
  server = await startInstance({ DATABASE_URL: database.url, PORT: String(await freePort()), ...bootstrapAdmin }, onFileEnd)
  pageOrigin = server.url.replace('127.0.0.1', 'localhost')
  adminToken = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  for (const code of ['shop', 'notes'] as const) {
    urls[code] = await serveSpa({ authUrl: pageOrigin, appCode: code, root, host: `${code}.localhost` }, onFileEnd)
    const app = { code, name: code, auto_grant_on_signup: true, allowed_redirect_urls: [`${urls[code]}/callback`] }
    expect(await server.call('POST', '/admin/apps', { body: app, token: adminToken })).toMatchObject({ status: 201 })
  }
})

afterEach(() => {
  expect(pageErrors.splice(0)).toEqual([])
})

/** Creates a user who may enter both apps. */
async function buildAccount(): Promise<string> {
  const email = `${randomUUID()}@example.com`
  const { body } = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'shop' } })
  const granted = await server.call('POST', `/admin/users/${body.user.id}/apps/notes`, { token: adminToken, body: {} })
  expect(granted.status).toBe(201)
  return email
}

interface Trace {
  /** The pages of the service that were shown. */
  shown: string[]
  /** The statuses of the exchanges of codes. */
  exchanges: number[]
  /** The addresses that the sign-in page sent the browser back to. */
  returns: string[]
}

async function openContext(): Promise<{ context: BrowserContext; trace: Trace }> {
  const context = await browser.newContext()
  const trace: Trace = { shown: [], exchanges: [], returns: [] }
  context.on('response', (response) => {
    const url = new URL(response.url())
    const isService = url.origin === pageOrigin
    const request = response.request()
    if (isService && request.isNavigationRequest() && response.status() === 200) trace.shown.push(url.pathname)
    if (isService && url.pathname === '/oauth/token') trace.exchanges.push(response.status())
    if (!isService && url.searchParams.has('code')) trace.returns.push(url.href)
  })
  return { context, trace }
}

async function openTab(context: BrowserContext, code: AppCode = 'shop', path = '/'): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => void pageErrors.push(error))
  await page.goto(urls[code] + path)
  return page
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

/** Leaves for the sign-in page. */
async function leave(page: Page): Promise<void> {
  await press(page, 'Sign in')
  await page.getByLabel('Password').waitFor()
  expect(new URL(page.url()).origin).toBe(pageOrigin)
}

/** Signs in on the page of the service. */
async function signInThere(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

async function isSignedIn(page: Page, email: string): Promise<void> {
  await page.getByText(`Hello, ${email}`).waitFor()
}

async function isSignedOut(page: Page): Promise<void> {
  await page.getByText('Your list is for you alone').waitFor()
}

/** The app shows who is signed in before it leads on to where they were. */
async function isAt(page: Page, url: string): Promise<void> {
  await expect.poll(() => page.url(), { interval: 10 }).toBe(url)
}

const storedSession = (page: Page): Promise<Json> =>
  page.evaluate('JSON.parse(Object.entries(localStorage).find(([key]) => /^gatehouse:.*\\/v1$/.test(key))?.[1] ?? "null")')

test('npm start in the folder of the example serves the page and the SDK that it imports', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const [program, ...words] = scripts.start.split(' ')
  const port = String(await freePort())
  const child = spawn(join(root, 'node_modules', '.bin', program), words, {
    cwd: root,
    env: { PATH: process.env.PATH, NO_COLOR: '1', PORT: port },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  await new Promise<void>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`it ended with ${code}: ${output}`)))
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
      if (output.includes('Local:')) resolve()
    })
  })
  const address = `http://localhost:${port}`
  expect(output).toContain(`${address}/`)
  expect(await (await fetch(`${address}/callback`)).text()).toContain('<title>Reading list</title>')
  const script = await (await fetch(`${address}/main.js`)).text()
  const [, imported] = /from "([^"]*browser[^"]*)"/.exec(script)!
  expect((await fetch(address + imported)).status).toBe(200)
})

test('at most ten lines of the app are about signing in, and the app has no form for it', () => {
  const [script, page] = ['main.js', 'index.html'].map((name) => readFileSync(join(root, name), 'utf8'))
  const lines = script!.split('\n').filter((line) => /\bauth\b|createBrowserAuth|\bback\b/.test(line) && !line.startsWith('//'))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.length).toBeLessThanOrEqual(10)
  expect(page).not.toContain('password')
})

test('the README of the example shows only commands that run here, in the root README and in CI', () => {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const commands = [...readme.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))
  expect(commands).toEqual([
    'npm run build',
    'npm start',
    'npm run -s authctl -- app update shop --redirect http://localhost:5174/callback',
    'cd examples/hosted-spa',
    'npm start',
    'npm run -s authctl -- app update notes --redirect http://localhost:5175/callback',
    'npm run -s authctl -- grant add --app notes --user admin@example.com',
    'cd examples/hosted-spa',
    'VITE_APP_CODE=notes PORT=5175 npm start',
  ])
})

test('a visitor signs in on the page of the service, and returns signed in to where they were', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const page = await openTab(context, 'shop', '/?list=films#end')
  await leave(page)
  await signInThere(page, email, 'a wrong password')
  await page.getByRole('alert').waitFor()
  await signInThere(page, email)
  await isSignedIn(page, email)
  await isAt(page, `${urls.shop}/?list=films#end`)
  await page.getByLabel('Add to films').fill('Metropolis')
  await press(page, 'Add')
  await page.getByRole('listitem').getByText('Metropolis').waitFor()
  await page.reload()
  await isSignedIn(page, email)
  await isSignedIn(await openTab(context), email)
  expect(trace.exchanges).toEqual([200])
  expect(trace.returns.length).toBe(1)
  // No page of the app is asked for the answer again.
  expect(await page.evaluate('document.referrer + location.href')).not.toContain('code=')
})

test('a second app admits a user who is signed in at the first without a page', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const shop = await openTab(context)
  await leave(shop)
  await signInThere(shop, email)
  await isSignedIn(shop, email)
  const shown = trace.shown.length
  const notes = await openTab(context, 'notes', '/?list=films')
  await isSignedOut(notes)
  await press(notes, 'Sign in')
  await isSignedIn(notes, email)
  await isAt(notes, `${urls.notes}/?list=films`)
  expect(trace.shown.slice(shown)).toEqual([])
  const [first, second] = [await storedSession(shop), await storedSession(notes)]
  expect([first, second].map(({ accessToken }) => claimsOf(accessToken).app_code)).toEqual(['shop', 'notes'])
})

test('two tabs that sign in at the same time each return to their own address, as does another app', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const books = await openTab(context, 'shop', '/?list=books')
  const films = await openTab(context, 'shop', '/?list=films')
  const notes = await openTab(context, 'notes', '/?list=poems')
  for (const tab of [books, films, notes]) await leave(tab)
  // The tab that began first ends last.
  for (const tab of [notes, films, books]) {
    await signInThere(tab, email)
    await isSignedIn(tab, email)
  }
  await isAt(books, `${urls.shop}/?list=books`)
  await isAt(films, `${urls.shop}/?list=films`)
  await isAt(notes, `${urls.notes}/?list=poems`)
  expect(trace.exchanges).toEqual([200, 200, 200])
  for (const tab of [books, films]) {
    await tab.reload()
    await isSignedIn(tab, email)
  }
})

test('reloads during and after the exchange of the code do no harm', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const page = await openTab(context)
  let isHeld = false
  await context.route('**/oauth/token', (route) => {
    // The first exchange never leaves the browser.
    if (isHeld) return route.continue()
    isHeld = true
  })
  await leave(page)
  await signInThere(page, email)
  await expect.poll(() => isHeld, { interval: 10 }).toBe(true)
  expect(new URL(page.url()).searchParams.has('code')).toBe(true)
  await page.reload()
  await isSignedIn(page, email)
  await isAt(page, `${urls.shop}/`)
  for (let reloads = 0; reloads < 20; reloads += 1) await page.reload()
  await isSignedIn(page, email)
  expect(trace.exchanges).toEqual([200])
})

test('a reload reports a lost answer to the exchange, and the next sign-in needs no password', async () => {
  const email = await buildAccount()
  const { context } = await openContext()
  const page = await openTab(context, 'shop', '/?list=films')
  let lost = 0
  await context.route('**/oauth/token', async (route) => {
    if (lost > 0) return route.continue()
    lost += 1
    await route.fetch()
    await route.abort()
  })
  await leave(page)
  await signInThere(page, email)
  await page.getByRole('alert').getByText('cannot be reached').waitFor()
  await page.reload()
  await page.getByRole('alert').getByText('Try again').waitFor()
  await isAt(page, `${urls.shop}/callback`)
  await press(page, 'Sign in')
  await isSignedIn(page, email)
  await isAt(page, `${urls.shop}/`)
})

test('going back after a sign-in stays in the app, and a reopened answer signs nobody else in', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const page = await openTab(context, 'shop', '/?list=films')
  await leave(page)
  await page.goBack()
  await isSignedOut(page)
  await leave(page)
  await signInThere(page, email)
  await isSignedIn(page, email)
  await page.goBack()
  await isSignedIn(page, email)
  expect(page.url()).toMatch(urls.shop)
  await page.goForward()
  await isSignedIn(page, email)
  const answer = trace.returns[0]!
  for (const tab of [page, await context.newPage()]) {
    await tab.goto(answer)
    await isSignedIn(tab, email)
    await isAt(tab, `${urls.shop}/?list=films`)
  }
  const stranger = await openContext()
  const tab = await stranger.context.newPage()
  await tab.goto(answer)
  await tab.getByRole('alert').getByText('not begun in this browser').waitFor()
  await isSignedOut(tab)
  expect([tab.url(), stranger.trace.exchanges]).toEqual([`${urls.shop}/callback`, []])
})

test('signing out of one app leaves the other, and signing out of all apps requires the password again', async () => {
  const email = await buildAccount()
  const { context, trace } = await openContext()
  const [shop, notes] = [await openTab(context), await openTab(context, 'notes')]
  await leave(shop)
  await signInThere(shop, email)
  await isSignedIn(shop, email)
  await press(notes, 'Sign in')
  await isSignedIn(notes, email)
  await press(shop, 'Sign out')
  await isSignedOut(shop)
  const { accessToken } = await storedSession(notes)
  expect((await server.call('GET', '/auth/me', { token: accessToken })).status).toBe(200)
  const shown = trace.shown.length
  await press(shop, 'Sign in')
  await isSignedIn(shop, email)
  expect(trace.shown.length).toBe(shown)

  await shop.goto(`${urls.shop}/?list=films`)
  await press(shop, 'Sign out of all apps')
  await press(shop, 'Sign out')
  await isSignedOut(shop)
  await isAt(shop, `${urls.shop}/?list=films`)
  expect((await server.call('GET', '/auth/me', { token: accessToken })).body.code).toBe('token_revoked')
  await leave(shop)
})
