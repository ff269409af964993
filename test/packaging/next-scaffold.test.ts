// The documented code for Next.js, of API and cookie sessions, in the app that create-next-app makes by default, built and started with the packed SDK.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request as sendRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { expect, onTestFinished, type TestContext, test } from 'vitest'
import { readText, root } from '../support/deployment-files.ts'
import { freePort } from '../support/free-port.ts'
import { npmPack, unpack } from '../support/npm-pack.ts'

const run = promisify(execFile)
const scaffolder = 'create-next-app@16.4.3'
const quiet = { NO_COLOR: '1', NEXT_TELEMETRY_DISABLED: '1' }
/** The app's own environment, without settings of the service that the tests may have. */
const env = { PATH: process.env.PATH!, HOME: process.env.HOME!, NODE_ENV: 'production', ...quiet } as const

/** Returns the folder of the scaffolded app, with its packages. It is made once, in the git-ignored `.runtime/`. */
async function scaffold(): Promise<string> {
  const app = join(root, '.runtime', scaffolder.replace('@', '-'))
  if (existsSync(app)) return app
  process.stderr.write('[gatehouse] fetching Next.js (370 MB) into .runtime/ (once)\n')
  mkdirSync(dirname(app), { recursive: true })
  const staging = mkdtempSync(join(dirname(app), 'next-'))
  try {
    const options = [
      '--empty',
      '--ts',
      '--app',
      '--no-src-dir',
      '--no-linter',
      '--no-tailwind',
      '--disable-git',
      '--use-npm',
      '--yes',
    ]
    await run('npx', ['--yes', scaffolder, 'app', ...options], {
      cwd: staging,
      env: { ...process.env, ...quiet },
      timeout: 200_000,
    })
    renameSync(join(staging, 'app'), app)
  } finally {
    rmSync(staging, { recursive: true, force: true })
  }
  return app
}

/** The files in the first code block of a section named Next.js, each below a comment with its path. */
function documentedFiles(page: string): Map<string, string> {
  const [, section = ''] = readText(page).split('\n## Next.js\n')
  const [, block = ''] = section.split(/^```.*\n/m)
  const [, ...parts] = block.split(/^\/\/ (\S+)\n/m)
  return new Map(parts.flatMap((path, index) => (index % 2 === 0 ? [[path, parts[index + 1]!]] : [])))
}

const forApi = documentedFiles('docs/guard-a-backend/sdk-entry-points.md')
const forPages = documentedFiles('docs/sign-users-in/cookie-sessions.md')

/** Builds the scaffolded app with these files and the packed SDK, and starts it on a port. Returns its log. */
async function startApp({ skip }: TestContext, files: Map<string, string>, settings: object, port: number) {
  const app = await scaffold().catch((error: Error & { stderr?: string; killed?: boolean }) => {
    const said = `${error.stderr}${error.message}`
    if (!error.killed && !/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET/.test(said)) throw error
    return skip('the npm registry cannot be reached, so there is no Next.js')
  })
  expect(readFileSync(join(app, 'next.config.ts'), 'utf8')).toContain('cacheComponents: true')
  const packed = mkdtempSync(join(tmpdir(), 'gatehouse-next-'))
  onTestFinished(() => rmSync(packed, { recursive: true, force: true }))
  const sdk = join(app, 'node_modules/@gatehouse/sdk')
  const stale = [...forApi.keys(), ...forPages.keys(), '.next'].map((path) => join(app, path))
  for (const path of [sdk, ...stale]) rmSync(path, { recursive: true, force: true })
  unpack(npmPack('sdk', packed), sdk)
  for (const [path, content] of files) {
    mkdirSync(dirname(join(app, path)), { recursive: true })
    writeFileSync(join(app, path), content)
  }
  const next = join(app, 'node_modules/next/dist/bin/next')
  await run(process.execPath, [next, 'build'], { cwd: app, env })
  const program = spawn(process.execPath, [next, 'start', '--port', String(port)], {
    cwd: app,
    env: { ...env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  let log = ''
  for (const stream of [program.stdout, program.stderr]) stream.setEncoding('utf8').on('data', (text) => (log += text))
  await expect.poll(() => log).toContain('Ready in')
  return () => log
}

test('the documented code builds with Cache Components, answers each request for its own token, and logs no error', async (context) => {
  expect([...forApi.keys()]).toEqual(['auth.ts', 'app/api/notes/route.ts', 'app/page.tsx'])
  const auth = createTestAuth({ appCode: 'notes' })
  onTestFinished(() => auth.close())
  const port = await freePort()
  const log = await startApp(context, forApi, auth.env, port)
  const url = `http://localhost:${port}`
  const shown = async (headers = {}) => /<h1>([^<…]+)<\/h1>/.exec(await (await fetch(url, { headers })).text())?.[1]
  expect(await shown(auth.bearer())).toBe('test.user@example.com')
  expect(await shown()).toBe('nobody')
  for (const { token } of auth.badTokens()) expect(await shown({ authorization: `Bearer ${token}` })).toBe('nobody')
  const notes = await fetch(`${url}/api/notes`, { headers: auth.bearer() })
  expect([notes.status, await notes.json()]).toEqual([200, { hello: 'test.user@example.com' }])
  expect((await fetch(`${url}/api/notes`)).status).toBe(401)
  expect(log()).not.toContain('Error')
})

test('the documented cookie session leads from the guarded page to the sign-in and back, guards the route, and signs out', async (context) => {
  expect([...forPages.keys()]).toEqual(['session.ts', 'proxy.ts', 'app/api/notes/route.ts', 'app/notes/page.tsx', 'app/page.tsx'])
  const auth = createTestAuth({ appCode: 'notes' })
  onTestFinished(() => auth.close())
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const secret = { SERVICE_REDIRECT_URL: `${origin}/callback`, SERVICE_COOKIE_SECRET: 'a secret for cookies, 32 characters' }
  const log = await startApp(context, forPages, { ...auth.env, ...secret }, port)
  const jar = new Map<string, string>()
  // `fetch` would send the headers of a script.
  const ask = async (path: string, sent: Record<string, string> = {}, method = 'GET') => {
    const cookie = [...jar].map((pair) => pair.join('=')).join('; ')
    const headers = { accept: 'text/html', cookie, ...sent }
    const [answer] = (await once(sendRequest(new URL(path, origin), { method, headers }).end(), 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) text += chunk
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
      if (line.includes('Max-Age=0')) jar.delete(name)
      else jar.set(name, value)
    }
    return { status: answer.statusCode, location: answer.headers.location ?? '', text }
  }
  const asScript = (path: string, headers = {}) =>
    ask(path, { accept: '*/*', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', ...headers })
  const atService = async (url: string) => (await fetch(url, { redirect: 'manual' })).headers.get('location')!
  expect((await ask('/')).text).toContain('<a href="/login">Sign in</a>')
  expect((await asScript('/api/notes')).status).toBe(401)
  for (const path of ['/notes', '/notes?_rsc=1', '/login?returnTo=/notes'])
    expect([path, (await asScript(path, { rsc: '1' })).status, jar.size]).toEqual([path, 401, 0])
  const led = await ask('/notes')
  expect([led.status, new URL(led.location, origin).href]).toEqual([303, `${origin}/login?returnTo=%2Fnotes`])
  const back = await ask(await atService((await ask(led.location)).location))
  expect([back.status, new URL(back.location, origin).href]).toEqual([303, `${origin}/notes`])
  const page = await ask('/notes')
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('<h1>test.user@example.com</h1>')])
  expect((await ask('/')).text.replaceAll('<!-- -->', '')).toContain('<a href="/notes">Notes of test.user@example.com</a>')
  expect(JSON.parse((await asScript('/api/notes')).text)).toEqual({ hello: 'test.user@example.com' })
  const [, action = ''] = /<form[^>]* action="([^"]*)"/.exec(page.text) ?? []
  const out = await ask(action, { origin }, 'POST')
  expect([out.status, new URL(out.location).origin]).toEqual([303, new URL(auth.env.SERVICE_AUTH_URL).origin])
  expect(new URL((await ask(await atService(out.location))).location, origin).href).toBe(`${origin}/`)
  expect([(await asScript('/api/notes')).status, jar.size]).toEqual([401, 0])
  expect(log()).not.toContain('Error')
})
