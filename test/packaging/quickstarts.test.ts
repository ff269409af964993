// Runs every quickstart exactly as written in docs/, with the packed SDK. `npm-start.test.ts` runs the steps before it.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createTestAuth } from '@gatehouse/sdk/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { openBrowser, sendOverHttp } from '../../packages/sdk/src/web/test-browser.ts'
import { freePort } from '../support/free-port.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const page = readFileSync(join(root, 'docs/start/quickstarts.md'), 'utf8')
const programs = [...page.matchAll(/^## (\w+)\n\n```js\n(.*?)```/gms)].map(([, framework, source]) => ({
  framework: framework!,
  source: source!,
}))
const python = /^## Python\n\n```python\n(.*?)```.*?```sh\n(.*?)```/ms.exec(page)!
const rendered = /^## A server-rendered app\n.*?```sh\n(.*?)```.*?```js\n(.*?)```/ms.exec(page)!
const tarball = /^## Without the clone.*?```sh\n(.*?)```/ms.exec(page)!
const hasPython = spawnSync('python3', ['--version']).status === 0
const testing = /```js\n(.*?)```/s.exec(readFileSync(join(root, 'docs/guard-a-backend/testing.md'), 'utf8'))![1]!

const { env, bearer, badTokens, close } = createTestAuth({ appCode: 'notes' })
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-quickstart-'))
  const installed = join(folder, 'node_modules', '@gatehouse', 'sdk')
  mkdirSync(installed, { recursive: true })
  execFileSync('pnpm', ['pack', '--pack-destination', folder], { cwd: join(root, 'packages', 'sdk'), stdio: 'pipe' })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'))!
  execFileSync('tar', ['-xzf', join(folder, tarball), '-C', installed, '--strip-components=1'])
  mkdirSync(join(folder, 'node_modules', '@hono'))
  for (const name of ['koa', 'express', 'fastify', 'hono', '@hono/node-server'])
    symlinkSync(realpathSync(join(root, 'packages', 'sdk', 'node_modules', name)), join(folder, 'node_modules', name))
  writeFileSync(
    join(folder, '.env'),
    Object.entries(env)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  return close()
})

test('every framework has a quickstart of four steps, and of seven lines if serving takes no import', () => {
  expect(programs.map(({ framework }) => framework)).toEqual(['Koa', 'Express', 'Fastify', 'Hono', 'Node'])
  // Each other kind of app has a list of its own.
  const steps = (section: string) =>
    section
      .match(/^\*\*\d[.] /gm)
      ?.map((step) => step.slice(2, 3))
      .join('')
  const [api, ...sections] = page.split(/^## /m)
  expect(steps(api!)).toBe('1234')
  const lists = sections.map((section) => [section.split('\n')[0], steps(section)])
  expect(lists.filter(([, list]) => list)).toEqual([
    ['A page with a script', '1234'],
    ['A server-rendered app', '1234'],
    ['Next.js', '123456'],
  ])
  for (const { framework, source } of programs)
    expect({ framework, lines: source.split('\n').filter(Boolean).length <= (framework === 'Hono' ? 8 : 7) }).toEqual({
      framework,
      lines: true,
    })
})

test('the page shows only commands that a test types', () => {
  const blocks = [...page.matchAll(/^```sh\n(.*?)```/gms)].map(([, block]) => block!)
  expect(blocks.length).toBe(10)
  // `e2e/quickstart-page.test.ts` types it.
  expect(rendered[1]).toContain(blocks[5])
  expect(blocks[6]).toBe(rendered[1])
  // Next.js has the commands of the others, on a page of its own.
  expect(blocks[7]).toBe(blocks[1]!.split('\n').slice(1).join('\n') + rendered[1])
  expect(blocks[8]).toBe(blocks[2]!.replace(' koa', ''))
  expect(blocks[9]).toBe(tarball[1])
  expect(blocks[0]).toBe('npm start\n')
  expect(blocks[4]).toBe(python[2])
})

test.each([
  // Sign-in, sign-out and a guarded page; a guarded route takes three lines more, and a home page that says who is signed in too.
  ['a cookie session in Next.js', 'sign-users-in/cookie-sessions.md', /^## Next.js\n\n```ts\n(.*?)```/ms],
  ['a page with React', 'sign-users-in/sign-in-page.md', /^```tsx\n(.*?)```/ms],
])('%s takes at most ten lines for signing in, as the docs show it', (_, file, block) => {
  const [, shown = ''] = block.exec(readFileSync(join(root, 'docs', file), 'utf8')) ?? []
  const [, ...files] = `\n${shown.split('// app/page.tsx')[0]}`.split(/^(?=\/\/ \S+$)|^\n/m)
  const pages = files.filter((text) => !text.startsWith('// app/api/'))
  const lines = pages
    .join('')
    .split('\n')
    .filter((line) => /auth|session|SignedIn|SignedOut|back\b|principal|\/login|\/logout/i.test(line))
  expect(lines.filter((line) => !line.startsWith('//')).length).toBeLessThanOrEqual(10)
})

/** The files of a documented block of TypeScript, each of which begins with a comment with its name. */
function documentedFiles(document: string, title: string): Record<string, string> {
  const text = readFileSync(join(root, 'docs', document), 'utf8')
  const [, block = ''] = new RegExp(`^## ${title}\\n\\n\`\`\`\\w+\\n(.*?)\`\`\``, 'ms').exec(text) ?? []
  return Object.fromEntries(
    block.split(/^\/\/ (?=\S+\.ts\n)/m).flatMap((file) => {
      const [name = '', ...lines] = file.split('\n')
      return name === '' ? [] : [[name, lines.join('\n')]]
    }),
  )
}

/** Starts a quickstart, and sends it requests with a good token, with bad tokens and without one. */
async function expectGuarded(file: string, args: readonly string[]): Promise<void> {
  const port = await freePort()
  const program = spawn(file, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, PORT: String(port), PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'inherit', 'ignore'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const ended = new Promise<never>((_, reject) => program.once('exit', (code) => reject(new Error(`ended with ${code}`))))
  ended.catch(() => {})
  const ask = (headers: Record<string, string> = {}) => fetch(`http://127.0.0.1:${port}/`, { headers })
  await Promise.race([ended, expect.poll(() => ask().then(({ status }) => status), { interval: 20 }).toBe(401)])

  expect(await (await ask(bearer())).json()).toEqual({ hello: 'test.user@example.com' })
  for (const { token } of badTokens()) expect((await ask({ authorization: `Bearer ${token}` })).status).toBe(401)
}

test.for(programs)(
  'the quickstart for $framework starts, answers its users and refuses everybody else',
  async ({ framework, source }) => {
    const file = `${framework}.mjs`
    writeFileSync(join(folder, file), source)
    await expectGuarded(process.execPath, ['--env-file=.env', file])
  },
)

test.skipIf(!hasPython)('the quickstart for Python starts, answers its users and refuses everybody else', async () => {
  const [, source = '', commands = ''] = python
  writeFileSync(join(folder, 'server.py'), source)
  const [enter, copy = '', start = ''] = commands.trim().split('\n')
  expect(enter).toBe('cd ../hello')
  for (const [, path = ''] of copy.matchAll(/[.][.]\/gatehouse\/(\S+)/g))
    cpSync(join(root, path), join(folder, path.split('/').at(-1)!))
  await expectGuarded('sh', ['-c', start.replace('&& python3', '&& exec python3')])
})

test('the quickstart for a server-rendered app leads a browser to sign in, shows the user, and signs out', async () => {
  const [, commands = '', source = ''] = rendered
  const place = join(folder, 'rendered')
  mkdirSync(join(place, 'clone'), { recursive: true })
  mkdirSync(join(place, 'hello'))
  cpSync(join(folder, '.env'), join(place, 'hello', '.env'))
  writeFileSync(join(place, 'hello', 'server.mjs'), source)
  const port = await freePort()
  const [register, ...settings] = commands.replaceAll('localhost:3000', `localhost:${port}`).trim().split('\n')
  // The service of the tests takes any redirect URL. `npm-start.test.ts` and others type `app update`.
  expect(register).toMatch(/^npm run -s authctl -- app update hello --redirect \S+ --auto-grant$/)
  execFileSync('sh', ['-ec', settings.join('\n')], { cwd: join(place, 'clone'), env: { PATH: process.env.PATH } })
  const program = spawn(process.execPath, ['--env-file=.env', 'server.mjs'], {
    cwd: join(place, 'hello'),
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const origin = `http://localhost:${port}`
  const cookies = new Map<string, string>()
  // `fetch` would send the headers of a script.
  const ask = async (url: string, headers: Record<string, string> = {}, method = 'GET') => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const sent = request(new URL(url, origin), { method, headers: { accept: 'text/html', ...headers, cookie } }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) text += chunk
    for (const line of answer.headers['set-cookie'] ?? []) {
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return { status: answer.statusCode, location: answer.headers.location ?? '', text }
  }
  const atService = async (url: string) => (await fetch(url, { redirect: 'manual' })).headers.get('location')!
  const isUp = () =>
    ask('/', { accept: '*/*' }).then(
      ({ status }) => status,
      () => 0,
    )
  await expect.poll(isUp, { interval: 20 }).toBe(401)
  const led = await ask('/')
  expect(led.location).toBe(`${origin}/login?returnTo=%2F`)
  const back = await ask(await atService((await ask(led.location)).location))
  expect(back.location).toBe(`${origin}/`)
  const home = await ask('/')
  expect(home.text).toContain('Hello, test.user@example.com <form method="post" action="/logout?browser">')
  // Without `browser`, the service would let them in again at once.
  const out = await ask('/logout?browser', { origin }, 'POST')
  expect(out.location).toMatch(/^http:.*\/oauth\/logout\?/)
  expect((await ask(await atService(out.location))).location).toBe(`${origin}/`)
  expect((await ask('/')).status).toBe(303)
})

test('the SDK is packed as one file, under the name that the page uses', () => {
  const [, commands = ''] = tarball
  const home = join(folder, 'packed')
  const clone = join(home, 'gatehouse')
  mkdirSync(join(home, 'hello'), { recursive: true })
  mkdirSync(join(clone, 'packages'), { recursive: true })
  cpSync(join(folder, 'node_modules', '@gatehouse', 'sdk'), join(clone, 'packages', 'sdk'), { recursive: true })
  // What was packed holds no sources to build from.
  const typed = commands.replace('npm pack', 'npm pack --ignore-scripts')
  execFileSync('sh', ['-ec', typed], { cwd: clone, env: { PATH: process.env.PATH, HOME: home }, stdio: 'pipe' })
  const [file = ''] = readdirSync(join(home, 'hello'))
  expect(page.split(file).length).toBeGreaterThan(3)
  const npm = (...args: string[]) =>
    execFileSync('npm', args, { cwd: join(home, 'hello'), env: { PATH: process.env.PATH, HOME: home }, stdio: 'pipe' })
  npm('init', '--yes')
  npm('install', `./${file}`, '--offline')
  // A build machine has only what was committed.
  rmSync(join(home, 'hello', 'node_modules'), { recursive: true })
  npm('ci', '--omit=dev', '--offline')
  expect(readdirSync(join(home, 'hello', 'node_modules', '@gatehouse', 'sdk'))).toContain('dist')
})

test('the tests in docs/guard-a-backend/testing.md pass in node:test, without another framework', () => {
  writeFileSync(join(folder, 'shown.test.mjs'), testing)
  const printed = execFileSync(process.execPath, ['--test', '--test-reporter=tap', 'shown.test.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
    timeout: 120_000,
  })
  expect(printed).toMatch(new RegExp(`^# pass ${badTokens().length + 3}$`, 'm'))
  expect(printed).toMatch(/^# fail 0$/m)
})

test('the documented guard for Nest reads .env late, opens public routes, and types permissions', async () => {
  const home = join(folder, 'nest')
  mkdirSync(home)
  mkdirSync(join(folder, 'node_modules', '@nestjs'))
  writeFileSync(join(home, 'package.json'), '{"type":"module"}')
  const from = (name: string) => realpathSync(join(root, 'packages', 'sdk', 'node_modules', name))
  for (const name of ['@nestjs/common', '@nestjs/core', '@nestjs/platform-express', 'reflect-metadata', 'rxjs'])
    symlinkSync(from(name), join(folder, 'node_modules', name))
  const files = documentedFiles('guard-a-backend/sdk-entry-points.md', 'Nest')
  expect(Object.keys(files)).toEqual(['auth.ts', 'notes.controller.ts', 'main.ts'])
  const main = `
    import 'reflect-metadata'
    import { Module } from '@nestjs/common'
    import { NestFactory } from '@nestjs/core'
    import { requireAuth } from '@gatehouse/sdk/nest'
    import { auth } from './auth'
    import { NotesController } from './notes.controller'
    @Module({ controllers: [NotesController] })
    class AppModule {}
    // As ConfigModule does it: after the modules are loaded.
    process.loadEnvFile('../.env')
    ${files['main.ts']!.replace('3000', 'process.env.PORT!')}
    export const misspelt = (principal: import('@gatehouse/sdk').Principal<import('./auth').NotesPermission>) =>
      // @ts-expect-error a permission that is not in the list
      principal.has('notes:delte')
  `
  for (const [name, text] of Object.entries({ ...files, 'main.ts': main })) writeFileSync(join(home, name), text)
  const compile = createRequire(import.meta.url).resolve('typescript/bin/tsc')
  const options =
    '--noEmit --strict --experimentalDecorators --skipLibCheck --target es2022 --module esnext --moduleResolution bundler'
  const types = ['--typeRoots', join(root, 'node_modules', '@types'), '--types', 'node']
  const checked = spawnSync(process.execPath, [compile, ...options.split(' '), ...types, 'main.ts'], {
    cwd: home,
    encoding: 'utf8',
  })
  expect(checked.stdout).toBe('')
  const { build } = createRequire(join(root, 'examples', 'nest-api', 'package.json'))('esbuild')
  const tsconfigRaw = { compilerOptions: { experimentalDecorators: true } }
  const bundled = { bundle: true, packages: 'external', format: 'esm', outfile: join(home, 'main.mjs') }
  await build({ entryPoints: [join(home, 'main.ts')], ...bundled, platform: 'node', target: 'node20', tsconfigRaw })

  const port = await freePort()
  const program = spawn(process.execPath, ['main.mjs'], {
    cwd: home,
    env: { PATH: process.env.PATH, PORT: String(port) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const ask = (path: string, method = 'GET', headers = {}) => fetch(`http://127.0.0.1:${port}${path}`, { method, headers })
  const status = () =>
    ask('/notes/health').then(
      (answer) => answer.status,
      () => 0,
    )
  await expect.poll(status, { interval: 20, timeout: 20_000 }).toBe(200)
  expect((await ask('/notes')).status).toBe(401)
  const hello = { hello: 'test.user@example.com', mayDelete: false }
  expect(await (await ask('/notes', 'GET', bearer())).json()).toEqual(hello)
  const deleting = [await ask('/notes', 'DELETE', bearer()), await ask('/notes', 'DELETE', bearer('notes:delete'))]
  expect(deleting.map((answer) => answer.status)).toEqual([403, 200])
})

test('the documented cookie session for Hono signs in, guards, and signs out', async () => {
  const text = readFileSync(join(root, 'docs/sign-users-in/cookie-sessions.md'), 'utf8')
  const [, snippet = ''] = /^## Hono, Workers and other fetch handlers\n\n```js\n(.*?)```/ms.exec(text) ?? []
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const source = `
    import { createAuth } from '@gatehouse/sdk'
    import { createWebSession, getAuth } from '@gatehouse/sdk/web'
    import { serve } from '@hono/node-server'
    import { Hono } from 'hono'
    const cookieSecret = 'a secret for cookies, of 32 characters or more'
    const session = createWebSession(createAuth(), { redirectUrl: '${origin}/callback', cookieSecret })
    const app = new Hono()
    ${snippet}
    serve({ fetch: app.fetch, port: ${port}, hostname: '127.0.0.1' })
  `
  writeFileSync(join(folder, 'hono-session.mjs'), source)
  const program = spawn(process.execPath, ['--env-file=.env', 'hono-session.mjs'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  onTestFinished(() => void program.kill('SIGKILL'))
  const browser = openBrowser(sendOverHttp, origin)
  const status = () =>
    browser.call('/notes').then(
      (answer) => answer.status,
      () => 0,
    )
  await expect.poll(status, { interval: 20, timeout: 20_000 }).toBe(401)
  expect(await (await browser.follow('/login?returnTo=/notes')).json()).toBe('test.user@example.com')
  expect((await browser.send('/logout', { origin, referer: origin })).status).toBe(303)
  expect((await browser.call('/notes')).status).toBe(401)
})
