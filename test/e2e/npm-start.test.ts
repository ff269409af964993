// A newcomer's first minutes: `npm start`, then every command in docs/start, typed exactly as written.
import { type ChildProcess, type ChildProcessByStdio, execFileSync, spawn, spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { spawn as spawnOnTerminal } from '@lydell/node-pty'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { maskFirstMinute } from '../support/first-minute.ts'
import { freePort } from '../support/free-port.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const overview = readFileSync(join(root, 'docs/start/overview.md'), 'utf8')
/** The commands in docs/start/overview.md. */
const commands = [...overview.matchAll(/```sh\n([\s\S]*?)```/g)].flatMap(([, block]) => block!.trim().split('\n'))

interface Program {
  output(): string
  /** Resolves once the output holds the text. */
  shows(text: string): Promise<void>
  signal(signal: NodeJS.Signals): void
  ended: Promise<number | null>
}

let folder: string
let environment: Record<string, string>
const running = new Set<ChildProcess>()

function start(file: string, args: readonly string[], settings: Record<string, string> = {}): Program {
  const env = { ...environment, ...settings }
  return observe(spawn(process.execPath, [join(root, file), ...args], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] }))
}

function observe(child: ChildProcessByStdio<null, Readable, Readable>): Program {
  running.add(child)
  let text = ''
  const listeners = new Set<() => void>()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      for (const listener of listeners) listener()
    })
  }
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      running.delete(child)
      resolve(code)
    })
  })
  return {
    output: () => text,
    shows: (wanted) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (text.includes(wanted)) resolve()
        }
        listeners.add(look)
        look()
        void ended.then((code) => reject(new Error(`ended with ${code} before it showed "${wanted}":\n${text}`)))
      }),
    signal: (signal) => child.kill(signal),
    ended,
  }
}

async function run(file: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const program = start(file, args)
  const code = await program.ended
  return { code, output: program.output() }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-newcomer-'))
  environment = {
    PATH: process.env.PATH!,
    HOME: folder,
    XDG_CONFIG_HOME: join(folder, 'config'),
    PORT: String(await freePort()),
    NO_COLOR: '1',
  }
})

afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

test('npm start shows the main job on the first run, stays up, and the authctl commands of the overview work', async () => {
  const service = start('scripts/start.ts', [])
  await service.shows('Ctrl-C ends it.')
  const walk = service.output()
  expect(walk).toMatch(/The first admin: admin@example\.com, password \S{20}/)
  // The recording in README plays this text. After a change to the tour: npm test -- npm-start -u, then npm run generate.
  await expect(maskFirstMinute(walk)).toMatchFileSnapshot(join(root, 'docs/pictures/first-minute.txt'))
  const results = [
    '= 201 created, access: pending',
    /= 200 Bearer token of \d+ characters, valid for 900 s/,
    /= 200 \{"hello":"ada-\w+@example\.com","app":"notes"\}/,
    '= 401 token_invalid',
    '= 403 app_access_denied',
    '= 401 token_revoked',
  ]
  let position = 0
  for (const result of results) {
    const found = walk.slice(position).search(result)
    expect(found, `${result} after position ${position} of\n${walk}`).toBeGreaterThanOrEqual(0)
    position += found
  }

  const typed = commands.filter((command) => command.startsWith('npm run -s authctl -- '))
  expect(typed.length).toBeGreaterThan(5)
  for (const command of typed) {
    const { code, output } = await run('packages/cli/dist/authctl.js', command.slice('npm run -s authctl -- '.length).split(' '))
    expect({ command, code, output }).toMatchObject({ code: 0, output: expect.stringMatching(/\S/) })
  }

  service.signal('SIGINT')
  expect(await service.ended).toBe(130)
  await expect(fetch(`http://127.0.0.1:${environment.PORT}/api/v1/health`)).rejects.toThrow()
})

test('a second run skips the tour, and npm start -- --tour repeats it as the admin who is signed in', async () => {
  const second = start('scripts/start.ts', [])
  await second.shows('Ctrl-C ends it.')
  expect(second.output()).not.toContain('A user registers')
  second.signal('SIGTERM')
  await second.ended

  const tour = start('scripts/start.ts', ['--tour'])
  await tour.shows('Ctrl-C ends it.')
  expect(tour.output()).toContain('= 403 app_access_denied')
  expect(tour.output()).not.toContain('The first admin')
  tour.signal('SIGINT')
  await tour.ended
})

test('npm start -- --tour does nothing if authctl is signed in at the service of another clone', async () => {
  const other = join(folder, 'other')
  const settings = { PORT: String(await freePort()), DATABASE_URL: `sqlite:${join(other, 'gatehouse.db')}` }
  const asked: string[] = []
  const stranger = createHttpServer((request, response) => {
    asked.push(request.url!)
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => stranger.listen(Number(environment.PORT), '127.0.0.1', resolve))
  const service = start('scripts/start.ts', ['--tour'], settings)
  await service.shows('Ctrl-C ends it.')
  stranger.close()
  expect(service.output()).toContain(`The tour was skipped: not signed in at http://127.0.0.1:${settings.PORT}`)
  const login = `authctl -- login --context local-${settings.PORT} --base-url http://127.0.0.1:${settings.PORT} --email`
  expect(service.output()).toContain(login)
  expect(asked).toEqual([])
  service.signal('SIGINT')
  expect(await service.ended).toBe(130)
})

async function listContexts() {
  const { output } = await run('packages/cli/dist/authctl.js', ['context', 'list', '--json'])
  return JSON.parse(output) as { name: string; base_url: string; current: boolean; signed_in: boolean }[]
}

test('npm start in a second clone keeps the session of the first one, and says which context it uses', async () => {
  const clone = join(folder, 'second-clone')
  mkdirSync(clone)
  const port = await freePort()
  const before = (await listContexts()).find(({ name }) => name === 'local')
  expect(before?.base_url).toBe(`http://127.0.0.1:${environment.PORT}`)
  const { PORT: _, ...rest } = environment
  const env = { ...rest, PORT: String(port) }
  const second = observe(
    spawn(process.execPath, [join(root, 'scripts/start.ts')], { cwd: clone, env, stdio: ['ignore', 'pipe', 'pipe'] }),
  )
  await second.shows('Ctrl-C ends it.')
  second.signal('SIGINT')
  await second.ended
  expect(second.output()).toContain(`authctl keeps the session of the admin in the context "local-${port}"`)
  expect(second.output()).toContain(`npm run -s authctl -- --context local-${port} whoami`)
  const after = await listContexts()
  expect(after.find(({ name }) => name === 'local')).toEqual(before)
  expect(after.find(({ name }) => name === `local-${port}`)?.base_url).toBe(`http://127.0.0.1:${port}`)
})

/** Runs `npm start` on a terminal, in the folder of another clone. Answers its question, and ends it once it is up. */
function startOnTerminal(clone: string, port: number, answer: string): Promise<{ screen: string; exit: number }> {
  mkdirSync(clone)
  const env = { ...environment, PORT: String(port), TERM: 'xterm-256color' }
  const terminal = spawnOnTerminal(process.execPath, [join(root, 'scripts/start.ts')], { cwd: clone, env, cols: 200, rows: 50 })
  const keys = new Map([
    ['Replace it, with its session? (yes/no)', `${answer}\r`],
    ['Ctrl-C ends it.', '\u0003'],
  ])
  let screen = ''
  return new Promise((resolve) => {
    terminal.onData((text) => {
      screen += text.replaceAll('\r', '')
      for (const [shown, typed] of keys) {
        if (!screen.includes(shown)) continue
        keys.delete(shown)
        terminal.write(typed)
      }
    })
    terminal.onExit(({ exitCode }) => resolve({ screen, exit: exitCode }))
  })
}

test.each([
  ['no', 'keeps that context, and uses another'],
  ['yes', 'replaces it'],
])('npm start in another clone asks on a terminal before it replaces the context local: %s %s', async (answer) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const before = await listContexts()
  const { screen, exit } = await startOnTerminal(join(folder, `clone-${answer}`), port, answer)
  expect({ exit, screen }).toMatchObject({ exit: 130 })
  expect(screen).toContain(`The context "local" of authctl is for http://127.0.0.1:${environment.PORT}. Replace it`)
  expect(screen).toContain('= 401 token_revoked')
  const used = answer === 'yes' ? 'local' : `local-${port}`
  expect(screen).toContain(`authctl keeps the session of the admin in the context "${used}"`)
  const after = await listContexts()
  expect(after.find(({ base_url }) => base_url === url)).toMatchObject({ name: used, signed_in: true })
  expect(after.filter(({ name }) => name !== used)).toEqual(before.filter(({ name }) => name !== used))
  expect(after.some(({ base_url }) => base_url === `http://127.0.0.1:${environment.PORT}`)).toBe(answer === 'no')
})

test('a taken port is reported in one line, and no process is left running', async () => {
  const blocker = createServer()
  await new Promise<void>((resolve) => blocker.listen(Number(environment.PORT), '127.0.0.1', resolve))
  const { code, output } = await run('scripts/start.ts', [])
  blocker.close()
  expect(code).toBe(1)
  expect(output.trim().split('\n')).toEqual([expect.stringMatching(/port \d+ on 127\.0\.0\.1 is taken; .*set another PORT/)])
})

test('the commands that run the service do what the overview says', async () => {
  expect(await run('packages/server/dist/gatehouse.js', ['check'])).toMatchObject({
    code: 0,
    output: expect.stringContaining('database: ok'),
  })
  expect(await run('packages/server/dist/gatehouse.js', ['migrate'])).toEqual({ code: 0, output: 'up to date\n' })
})

test.each([
  ['npm run -s gatehouse -- serve', 'packages/server/dist/gatehouse.js', ['serve']],
  ['npm run dev', 'scripts/run.mjs', ['dev']],
])('%s runs the service until a signal ends it', async (_, file, args) => {
  const settings = {
    PORT: '0',
    DATABASE_URL: `sqlite:${join(folder, 'dev.db')}`,
    JWT_ACCESS_SECRET: 'a secret of the tests, at least 32 characters long',
    AUTH_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString('base64'),
  }
  const service = start(file, args, settings)
  await service.shows('"msg":"listening"')
  const url = /"url":"([^"]+)"/.exec(service.output())![1]
  expect((await fetch(`${url}/api/v1/health`)).status).toBe(200)
  service.signal('SIGTERM')
  await service.ended
  await expect(fetch(`${url}/api/v1/health`)).rejects.toThrow()
})

/** Environment variables for the network access of this machine. */
const networkSetting = /^(https?_proxy|no_proxy|node_extra_ca_certs|ssl_cert_file|ssl_cert_dir)$/i

/** A newcomer's environment: an empty home, and the machine's tools without those of this checkout. Download caches are kept. */
function newcomer(home: string, port: number): Record<string, string> {
  const settings = join(homedir(), '.npmrc')
  if (existsSync(settings)) copyFileSync(settings, join(home, '.npmrc'))
  const path = process.env.PATH!.split(delimiter).filter((folder) => !folder.startsWith(root))
  const network = Object.entries(process.env).filter(([name]) => networkSetting.test(name)) as [string, string][]
  return {
    ...Object.fromEntries(network),
    PATH: path.join(delimiter),
    HOME: home,
    PORT: String(port),
    npm_config_cache: process.env.npm_config_cache ?? join(homedir(), '.npm'),
    XDG_DATA_HOME: process.env.XDG_DATA_HOME ?? join(homedir(), '.local', 'share'),
    XDG_CACHE_HOME: process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  }
}

const quickstarts = readFileSync(join(root, 'docs/start/quickstarts.md'), 'utf8')
/** The commands of the four steps, and the backend of the third. */
const [, onboarding = '', installation = '', starting = ''] = [
  ...quickstarts.split('## Koa')[0]!.matchAll(/```sh\n([\s\S]*?)```/g),
].map(([, block]) => block!)
const [, backend = ''] = /## Koa\n\n```js\n([\s\S]*?)```/.exec(quickstarts) ?? []

/** Runs commands in a terminal. Returns what it shows and the exit code. */
function typeOnTerminal(lines: string, cwd: string, env: Record<string, string>): Promise<{ screen: string; exit: number }> {
  return new Promise((resolve) => {
    const terminal = spawnOnTerminal('sh', ['-ec', lines], { cwd, env: { TERM: 'xterm-256color', ...env }, cols: 120, rows: 50 })
    let screen = ''
    terminal.onData((text) => {
      screen += text.replaceAll('\r', '')
    })
    terminal.onExit(({ exitCode }) => resolve({ screen, exit: exitCode }))
  })
}

/** Follows docs/start/quickstarts.md from its second step on, while `npm start` runs in the clone. */
async function followQuickstart(clone: string, env: Record<string, string>): Promise<void> {
  const { screen, exit } = await typeOnTerminal(onboarding + installation, clone, env)
  expect({ exit, screen }).toMatchObject({ exit: 0 })
  const curl = /^curl -H .*$/m.exec(screen)![0]
  const hello = join(clone, '..', 'hello')
  writeFileSync(join(hello, 'server.mjs'), backend)
  const port = await freePort()
  const server = spawn('sh', ['-c', `exec ${starting}`], {
    cwd: hello,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const program = observe(server)
  const ask = (command: string) =>
    spawnSync('sh', ['-c', command.replace('127.0.0.1:3000', `127.0.0.1:${port}`)], {
      encoding: 'utf8',
      env: { PATH: env.PATH! },
    }).stdout
  await expect.poll(() => ask(curl), { interval: 100 }).toBe('{"hello":"dev@example.com"}')
  expect(ask('curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1:3000/')).toBe('401')
  program.signal('SIGKILL')
  await program.ended
}

test('npm start in a fresh clone without installed packages completes the tour, and so does the quickstart', {
  timeout: 900_000,
}, async () => {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-clone-'))
  const clone = join(home, 'gatehouse')
  const port = await freePort()
  execFileSync('git', ['clone', '--quiet', root, clone])
  expect(existsSync(join(clone, 'node_modules')) || existsSync(join(clone, 'packages/server/dist'))).toBe(false)
  const npm = spawn('npm', ['start'], {
    cwd: clone,
    env: newcomer(home, port),
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  const typed = observe(npm)
  try {
    await typed.shows('Ctrl-C ends it.')
    expect(typed.output()).toContain('building sdk, server, cli')
    expect(typed.output()).toContain('= 401 token_revoked')
    await followQuickstart(clone, newcomer(home, port))
    expect((await fetch(`http://127.0.0.1:${port}/api/v1/health`)).status).toBe(200)
  } finally {
    // Signals the whole process group, as a terminal does.
    process.kill(-npm.pid!, 'SIGINT')
    await typed.ended
    rmSync(home, { recursive: true, force: true })
  }
  await expect(fetch(`http://127.0.0.1:${port}/api/v1/health`)).rejects.toThrow()
})
