// examples/hosted-express as a program, in a real Chromium: pages without a script, whose sessions are in cookies.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, bootstrapAdmin, PASSWORD, someEmail, testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'

const root = fileURLToPath(new URL('../../examples/hosted-express/', import.meta.url))
const browser = openBrowser()
let server: ServerInstance
let origin: string
let adminToken: string

beforeAll(async () => {
  const database = await createDatabase(testDatabase())
  onFileEnd(() => database.drop())
  // The sign-in page is at `PUBLIC_URL`, so the port must be known before the start.
  server = await startInstance({ DATABASE_URL: database.url, PORT: String(await freePort()), ...bootstrapAdmin }, onFileEnd)
  adminToken = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const port = await freePort()
  origin = `http://localhost:${port}`
  const app = { code: 'notes', name: 'Notes', auto_grant_on_signup: true, allowed_redirect_urls: [`${origin}/callback`] }
  expect(await server.call('POST', '/admin/apps', { body: app, token: adminToken })).toMatchObject({ status: 201 })
  const program = spawn(process.execPath, ['server.ts'], {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      SERVICE_AUTH_URL: server.url,
      SERVICE_APP_CODE: 'notes',
      JWT_ACCESS_SECRET: ACCESS_SECRET,
      SERVICE_REDIRECT_URL: `${origin}/callback`,
      SERVICE_COOKIE_SECRET: 'a secret for cookies, of 32 characters or more',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onFileEnd(async () => void program.kill('SIGKILL'))
  await new Promise<void>((resolve, reject) => {
    program.once('exit', (code) => reject(new Error(`the example ended with ${code}`)))
    program.stdout.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('listening')) resolve()
    })
  })
})

async function buildAccount(): Promise<string> {
  const email = someEmail()
  const { status } = await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'notes' } })
  expect(status).toBe(201)
  return email
}

async function openTab(path = '/'): Promise<Page> {
  const context = await browser.newContext({ javaScriptEnabled: false })
  onTestFinished(async () => context.close())
  const page = await context.newPage()
  await page.goto(origin + path)
  return page
}

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()

async function signInThere(page: Page, email: string): Promise<void> {
  await page.getByLabel('E-mail address').fill(email)
  await page.getByLabel('Password').fill(PASSWORD)
  await press(page, 'Sign in')
}

test('a visitor signs in on the page of the service, returns to the guarded page, writes, and signs out', async () => {
  const email = await buildAccount()
  const page = await openTab()
  await page.getByRole('link', { name: 'Sign in' }).click()
  await signInThere(page, email)
  expect(page.url()).toBe(`${origin}/list`)
  await page.getByLabel('Title').fill('Metropolis & <b>more</b>')
  await press(page, 'Add')
  await page.getByRole('listitem').getByText('Metropolis & <b>more</b>').waitFor()
  await page.goto(origin)
  await page.getByText(`Hello, ${email}.`).waitFor()
  // Only encrypted cookies are kept.
  const cookies = (await page.context().cookies(origin)).filter(({ name }) => name.startsWith('gatehouse_notes'))
  expect(cookies).toMatchObject([{ name: 'gatehouse_notes_session.0', httpOnly: true, sameSite: 'Lax' }])
  await page.goto(`${origin}/list`)
  await press(page, 'Sign out')
  // The service asks, and signs out too.
  expect(new URL(page.url()).pathname).toBe('/oauth/logout')
  await press(page, 'Sign out')
  expect(page.url()).toBe(`${origin}/`)
  await page.getByRole('link', { name: 'Sign in' }).click()
  await signInThere(page, email)
  await page.getByRole('listitem').getByText('Metropolis').waitFor()
})

test('a page of another site can neither write in the name of a user nor sign them out', async () => {
  const email = await buildAccount()
  const page = await openTab('/list')
  await signInThere(page, email)
  const form = (action: string) => `<form method="post" action="${origin}${action}"><button>${action}</button></form>`
  await page.route('http://evil.test/', (route) =>
    route.fulfill({ contentType: 'text/html', body: form('/list') + form('/logout') }),
  )
  for (const action of ['/list', '/logout']) {
    await page.goto('http://evil.test/')
    await press(page, action)
    // Another site: the browser does not even send the cookies along.
    await page.waitForURL(new RegExp(`${origin}|${server.url.replace('127.0.0.1', 'localhost')}`))
  }
  await page.goto(`${origin}/list`)
  await page.getByRole('button', { name: 'Add' }).waitFor()
  expect(await page.getByRole('listitem').count()).toBe(0)
})

test('a suspended user loses the page at once', async () => {
  const email = await buildAccount()
  const page = await openTab('/list')
  await signInThere(page, email)
  const { body } = await server.call('GET', `/admin/users?email=${encodeURIComponent(email)}`, { token: adminToken })
  const suspended = await server.call('PATCH', `/admin/users/${body.items[0].id}`, {
    token: adminToken,
    body: { status: 'suspended' },
  })
  expect(suspended.status).toBe(200)
  await expect.poll(async () => (await page.goto(`${origin}/list`))?.url()).not.toBe(`${origin}/list`)
})

test('at most ten lines of the app are about signing in, and the README shows no other command', () => {
  const [script, readme] = ['server.ts', 'README.md'].map((name) => readFileSync(join(root, name), 'utf8'))
  const lines = script!.split('\n').filter((line) => /\b(auth|session|getAuth|createAuth|createWebSession)\b/.test(line))
  expect(lines.filter((line) => !line.startsWith('//')).length).toBeLessThanOrEqual(10)
  expect([...readme!.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))).toEqual([
    'npm run build',
    'npm start',
    'npm run -s authctl -- app update shop --redirect http://localhost:3000/callback',
    'npm run -s authctl -- app onboard shop --dev --dotenv examples/hosted-express/.env',
    'cd examples/hosted-express',
    'echo SERVICE_REDIRECT_URL=http://localhost:3000/callback >> .env',
    'echo SERVICE_COOKIE_SECRET=$(openssl rand -hex 32) >> .env',
    'node --env-file=.env server.ts',
  ])
})
