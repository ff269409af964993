// `authctl login` in a terminal, with a browser that the tests steer: a real Chromium at a real service.
import { randomUUID } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { addUser, admin, type Gatehouse, type Machine, machine, parsed, startGatehouse, type Terminal } from '../cli/sandbox.ts'
import { productionSettings } from '../support/app-fixtures.ts'
import { openBrowser } from '../support/browser.ts'
import { testDatabase } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { totpAt } from '../support/totp.ts'

const browser = openBrowser()
let service: Gatehouse

beforeAll(async () => {
  // The sign-in page is at `PUBLIC_URL`, so the port must be known before the start.
  service = await startGatehouse({ PORT: String(await freePort()) }, testDatabase())
  return () => service.stop()
})

/** Starts a login, and opens in the browser what it opens. */
async function begin(
  here: Machine,
  context: BrowserContext,
  flags = '',
  url = service.url,
): Promise<{ login: Terminal; page: Page }> {
  const [bin, opened] = [join(here.folder, 'bin'), join(here.folder, 'opened')]
  mkdirSync(bin, { recursive: true })
  writeFileSync(opened, '')
  writeFileSync(join(bin, 'xdg-open'), `#!/bin/sh\necho "$1" > ${opened}\n`)
  chmodSync(join(bin, 'xdg-open'), 0o755)
  const env = { DISPLAY: ':0', SSH_TTY: '', PATH: `${bin}:${process.env.PATH}` }
  const login = here.terminal(`login --base-url ${url} ${flags}`, { env, columns: 1000 })
  await expect.poll(() => readFileSync(opened, 'utf8').endsWith('\n'), { interval: 10 }).toBe(true)
  const page = await context.newPage()
  await page.goto(readFileSync(opened, 'utf8').trim())
  return { login, page }
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function signInThere(page: Page, { email, password } = admin): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(password)
  await press(page, 'Sign in')
}

test('an admin signs in on the page and agrees, and authctl continues with a session that renews itself', async () => {
  const here = machine()
  const context = await browser.newContext()
  const { login, page } = await begin(here, context, `--email ${admin.email}`)
  await signInThere(page)
  await page.getByRole('heading', { name: /^Continue to/ }).waitFor()
  await press(page, 'Continue')
  await page.getByText(`signed in at ${service.url} as ${admin.email}. You can close this window.`).waitFor()
  expect((await login.ended()).exit).toBe(0)
  expect(parsed(await here.authctl('whoami --json'))).toMatchObject({ email: admin.email, system_admin: true })
  const { refresh_token } = here.readContexts().contexts.default!.tokens!
  here.changeTokens('default', { renew_at: 0 })
  expect((await here.authctl('app list')).exit).toBe(0)
  expect(here.readContexts().contexts.default!.tokens!.refresh_token).not.toBe(refresh_token)
  expect(parsed(await here.authctl('app show authctl --json')).allowed_redirect_urls).toEqual(['http://127.0.0.1/callback'])

  // Somebody who is signed in there already only has to agree. Any program could listen on this machine, so the page asks.
  const again = await begin(here, context)
  await press(again.page, 'Continue')
  expect((await again.login.ended()).exit).toBe(0)
  expect(parsed(await here.authctl('logout --json'))).toMatchObject({ outcome: 'signed_out' })
  expect((await here.authctl('whoami')).exit).toBe(4)
})

test('a page that was left, reloaded and reopened still completes the login', async () => {
  const here = machine()
  const { login, page } = await begin(here, await browser.newContext(), `--email ${admin.email}`)
  expect(await page.getByLabel('E-mail address').inputValue()).toBe(admin.email)
  await page.goto('about:blank')
  await page.goBack()
  await page.reload()
  await signInThere(page)
  await press(page, 'Continue')
  await page.getByText('You can close this window').waitFor()
  expect((await login.ended()).exit).toBe(0)
})

test('a user who may not administer gets no session, and Ctrl-C ends the wait', async () => {
  const boss = machine()
  await boss.login(service.url)
  const person = { email: `${randomUUID()}@example.com`, password: 'a fine password' }
  await addUser(boss, person)
  const here = machine()
  const { login, page } = await begin(here, await browser.newContext())
  await signInThere(page, person)
  await page.getByRole('heading', { name: /access/ }).waitFor()
  login.type('\u0003')
  expect((await login.ended()).exit).toBe(130)
  expect(existsSync(here.contextsPath)).toBe(false)
})

test('the first admin in production sets up a second factor on the page, keeps the codes, and continues', async () => {
  const url = `http://localhost:${await freePort()}`
  const { port } = new URL(url)
  const here = machine()
  // Nothing is there yet: the databases of other tests were made outside production.
  const DATABASE_URL = `sqlite:${join(here.folder, 'new.db')}`
  const settings = { ...productionSettings, PUBLIC_URL: url, AUTH_TRUST_PROXY: '0', PORT: port, DATABASE_URL }
  const production = await startGatehouse(settings)
  onTestFinished(() => production.stop())
  const { login, page } = await begin(here, await browser.newContext(), `--email ${admin.email}`, url)
  await signInThere(page)
  await page.getByRole('heading', { name: 'You need a second factor' }).waitFor()
  await press(page, 'Set up a second factor')
  await page.getByRole('img', { name: 'QR code that holds the secret below' }).waitFor()
  const secret = (await page.getByLabel('Or type this secret').inputValue()).replaceAll(' ', '')
  await page.getByLabel('Code that the app shows').fill(totpAt(secret, Date.now()))
  await press(page, 'Turn on')
  const codes = (await page.getByLabel('Recovery codes').inputValue()).split('\n')
  expect(codes).toHaveLength(10)
  await press(page, 'Continue')
  await page.getByRole('heading', { name: /^Continue to/ }).waitFor()
  await press(page, 'Continue')
  await page.getByText('You can close this window').waitFor()
  expect((await login.ended()).exit).toBe(0)
  expect(parsed(await here.authctl('whoami --json'))).toMatchObject({ email: admin.email, system_admin: true })
  expect(parsed(await here.authctl('app show authctl --json'))).toMatchObject({ require_two_factor: 'everyone' })
  expect((await here.authctl('user list')).exit).toBe(0)
})
