// A page of React 19, in its strict mode, in a real Chromium against a server.
import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { createBrowserAuth } from '@gatehouse/sdk/browser'
import { AuthProvider, SignedIn, SignedOut, SignInButton, useAuth } from '@gatehouse/sdk/react'
import type { BrowserContext, Page } from 'playwright-core'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { serveSpa } from '../support/spa.ts'

const browser = openBrowser()
const pageErrors: Error[] = []
const appCode = 'react'
let server: ServerInstance
let url: string

beforeAll(async () => {
  const database = await createDatabase('sqlite')
  onFileEnd(() => database.drop())
  server = await startInstance({ DATABASE_URL: database.url, PORT: String(await freePort()), ...bootstrapAdmin }, onFileEnd)
  const root = fileURLToPath(new URL('../fixtures/react-page/', import.meta.url))
  url = await serveSpa({ authUrl: server.url, appCode, root, host: 'react.localhost' }, onFileEnd)
  const { access_token: token } = (await server.login(ADMIN_EMAIL, 'authctl')).body
  const app = { code: appCode, name: 'React', auto_grant_on_signup: true, allowed_redirect_urls: [`${url}/callback`] }
  expect(await server.call('POST', '/admin/apps', { body: app, token })).toMatchObject({ status: 201 })
})

afterEach(() => {
  expect(pageErrors.splice(0)).toEqual([])
})

async function openTab(context: BrowserContext, path = ''): Promise<Page> {
  const page = await context.newPage()
  page.on('pageerror', (error) => void pageErrors.push(error))
  await page.goto(url + path)
  return page
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true })

async function buildAccount(): Promise<string> {
  const email = `${randomUUID()}@example.com`
  expect(await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: appCode } })).toMatchObject({
    status: 201,
  })
  return email
}

async function signIn(page: Page, email: string, password = PASSWORD): Promise<void> {
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

test('useAuth renders the signed-in user in every tab, and after a reload', async () => {
  const email = await buildAccount()
  const context = await browser.newContext()
  const [first, second] = [await openTab(context), await openTab(context)]
  await heading(first, 'Signed out: nobody').waitFor()
  await signIn(first, email, 'wrong password')
  await first.getByText('invalid_credentials').waitFor()
  await signIn(first, email)
  for (const tab of [first, second]) await heading(tab, `Hello, ${email}`).waitFor()
  await second.getByText('base_user true false').waitFor()
  await first.reload()
  await heading(first, `Hello, ${email}`).waitFor()
  await second.getByRole('button', { name: 'Sign out' }).click()
  for (const tab of [first, second]) await heading(tab, 'Signed out: logout').waitFor()
})

test('useFetch sends the token of the signed-in user, and is the same function in every render', async () => {
  const email = await buildAccount()
  const page = await openTab(await browser.newContext())
  await signIn(page, email)
  await page.getByRole('button', { name: 'Ask' }).click()
  await page.getByText(`200: ${email}, 1 fetch`).waitFor()
})

test('SignInButton opens the page of the service, and SignedIn and SignedOut follow in every tab', async () => {
  const email = await buildAccount()
  const context = await browser.newContext()
  const [page, other] = [await openTab(context, '/#hosted'), await openTab(context, '/#hosted')]
  for (const tab of [page, other]) await heading(tab, 'Outside').waitFor()
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  for (const tab of [page, other]) await heading(tab, `Inside: ${email}`).waitFor()
  await other.getByRole('button', { name: 'Sign out' }).click()
  for (const tab of [page, other]) await heading(tab, 'Outside').waitFor()
})

test('SignInButton passes on options and attributes, reports errors, and lets onClick prevent the sign-in', async () => {
  const page = await openTab(await browser.newContext(), '/#hosted')
  await page.getByRole('button', { name: 'Stay' }).click()
  await page.getByRole('button', { name: 'Astray' }).click()
  await page.getByText('config_invalid').waitFor()
  const join = page.getByRole('button', { name: 'Join' })
  expect([await join.getAttribute('class'), await join.getAttribute('type')]).toEqual(['wide', 'button'])
  await join.click()
  await page.waitForURL(/\/oauth\/authorize\?/)
  expect(new URL(page.url()).searchParams.get('prompt')).toBe('create')
})

test('a server renders SignedOut for visitors', () => {
  const auth = createBrowserAuth({ authUrl: server.url, appCode })
  const out = createElement(SignedOut, {}, createElement(SignInButton, { className: 'wide' }))
  const page = createElement(AuthProvider, { auth }, createElement(SignedIn, {}, 'inside'), out)
  expect(renderToString(page)).toBe('<button class="wide" type="button">Sign in</button>')
  auth.dispose()
})

test('hooks and components outside a provider say what is missing', async () => {
  const page = await (await browser.newContext()).newPage()
  await page.goto(`${url}/#outside`)
  await page.getByText('The hooks and components of @gatehouse/sdk/react need an <AuthProvider auth={…}> above them').waitFor()
})

const Greeting = () => createElement('p', {}, useAuth().state.status)

test('a server renders the page as signed out', () => {
  const auth = createBrowserAuth({ authUrl: server.url, appCode })
  expect(renderToString(createElement(AuthProvider, { auth }, createElement(Greeting)))).toBe('<p>signed_out</p>')
  auth.dispose()
})

test('a server renders the page as signed out, even if a user signed in within its process', async () => {
  const email = await buildAccount()
  const auth = createBrowserAuth({ authUrl: server.url, appCode })
  expect(await auth.login({ email, password: PASSWORD })).toMatchObject({ status: 'signed_in' })
  expect(auth.state.status).toBe('signed_in')
  expect(renderToString(createElement(AuthProvider, { auth }, createElement(Greeting)))).toBe('<p>signed_out</p>')
  auth.dispose()
})
