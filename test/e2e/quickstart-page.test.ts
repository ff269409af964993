// "A page with a script" of docs/start/quickstarts.md, exactly as written, with the packed SDK, in a real Chromium.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser } from '../support/browser.ts'
import { ACCESS_SECRET, ADMIN_EMAIL, bootstrapAdmin, PASSWORD, someEmail, testDatabase } from '../support/client.ts'
import { createDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { npmPack, unpack } from '../support/npm-pack.ts'
import { onFileEnd } from '../support/on-file-end.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const quickstarts = readFileSync(join(root, 'docs/start/quickstarts.md'), 'utf8')
const [, section = ''] = /^## A page with a script\n(.*?)^## /ms.exec(quickstarts) ?? []
/** The blocks of the section: a command, the server and the page. */
const [command = '', program = '', page = ''] = [...section.matchAll(/^```\w+\n(.*?)```/gms)].map(([, block]) => block)
const browser = openBrowser()
let server: ServerInstance

beforeAll(async () => {
  const database = await createDatabase(testDatabase())
  onFileEnd(() => database.drop())
  server = await startInstance({ DATABASE_URL: database.url, PORT: String(await freePort()), ...bootstrapAdmin }, onFileEnd)
})

test('users of the quickstart page sign in at the service, are greeted by the API, and sign out', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const authUrl = server.url.replace('127.0.0.1', 'localhost')
  const [, redirect = ''] = /^npm run -s authctl -- app update hello --redirect (\S+) --auto-grant\n$/.exec(command) ?? []
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  const allowed_redirect_urls = [redirect.replace('http://localhost:3000', origin)]
  const app = { code: 'hello', name: 'Hello', auto_grant_on_signup: true, allowed_redirect_urls }
  expect(await server.call('POST', '/admin/apps', { body: app, token })).toMatchObject({ status: 201 })
  const email = someEmail()
  await server.call('POST', '/auth/register', { body: { email, password: PASSWORD, app_code: 'hello' } })

  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-quickstart-page-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const modules = join(folder, 'node_modules')
  unpack(npmPack('sdk', join(folder, 'packed')), join(modules, '@gatehouse', 'sdk'))
  symlinkSync(realpathSync(join(root, 'packages', 'sdk', 'node_modules', 'express')), join(modules, 'express'))
  writeFileSync(join(folder, 'server.mjs'), program)
  writeFileSync(join(folder, 'index.html'), page.replace('http://localhost:4000', authUrl))
  const settings = { SERVICE_AUTH_URL: authUrl, SERVICE_APP_CODE: 'hello', JWT_ACCESS_SECRET: ACCESS_SECRET, PORT: `${port}` }
  const running = spawn(process.execPath, ['server.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, ...settings },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  onTestFinished(() => void running.kill('SIGKILL'))
  const status = () =>
    fetch(origin).then(
      (answer) => answer.status,
      () => 0,
    )
  await expect.poll(status, { interval: 20 }).toBe(200)

  const context = await browser.newContext()
  onTestFinished(async () => context.close())
  const tab = await context.newPage()
  const errors: Error[] = []
  tab.on('pageerror', (error) => errors.push(error))
  await tab.goto(origin)
  await tab.getByText('Nobody is signed in').waitFor()
  await tab.getByRole('button', { name: 'Sign in' }).click()
  await tab.getByLabel('E-mail address').fill(email)
  await tab.getByLabel('Password').fill(PASSWORD)
  await tab.getByRole('button', { name: 'Sign in', exact: true }).click()
  await tab.getByText(`{"hello":"${email}"}`).waitFor()
  expect(tab.url()).toBe(`${origin}/`)
  await tab.getByRole('button', { name: 'Sign out' }).click()
  // The service asks, and signs out too.
  await tab.waitForURL(/oauth\/logout/)
  await tab.getByRole('button', { name: 'Sign out' }).click()
  await tab.getByText('Nobody is signed in').waitFor()
  await tab.getByRole('button', { name: 'Sign in' }).click()
  await tab.getByLabel('Password').waitFor()
  expect(errors).toEqual([])
})
