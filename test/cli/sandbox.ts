import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawn as spawnOnTerminal } from '@lydell/node-pty'
import { afterAll, inject, onTestFinished } from 'vitest'
import { commands } from '../../packages/cli/src/commands/index.ts'
import { main } from '../../packages/cli/src/main.ts'
import { exchangeHttp, type HttpAnswer, type HttpRequest } from '../../packages/cli/src/network/exchange-http.ts'
import { compileCache } from '../support/compile-cache.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { fixture } from '../support/fixture.ts'
import { startInstance } from '../support/server-instance.ts'

export const cliProgram = inject('programs').authctl

export const admin = { email: 'ada@example.com', password: 'correct horse battery' }

export interface Ended {
  stdout: string
  stderr: string
  exit: number | null
}

/** An id that does not exist. */
export const nobody = '01997c2f-0000-7000-8000-000000000000'

/** The parsed output of a command with `--json`. */
export const parsed = ({ stdout }: { stdout: string }) => JSON.parse(stdout)
export const errorOf = ({ stderr }: { stderr: string }) => JSON.parse(stderr).error

function temporaryFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'authctl-'))
}

async function run(words: string[], options: { cwd: string; env: Record<string, string>; input?: string }): Promise<Ended> {
  const child = spawn(process.execPath, words, { cwd: options.cwd, env: options.env, stdio: 'pipe' })
  child.stdin.on('error', () => {})
  child.stdin.end(options.input ?? '')
  const ended = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8')
    child[name].on('data', (text: string) => {
      ended[name] += text
    })
  }
  const exit = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { ...ended, exit }
}

export interface Gatehouse {
  url: string
  stop(): Promise<void>
}

/** Starts a service with `admin` on a new database. It runs in the test process, so tests must not block the event loop. */
export async function startGatehouse(settings: Record<string, string> = {}, kind: DatabaseKind = 'sqlite'): Promise<Gatehouse> {
  const database = await createDatabase(kind)
  const ends = [() => database.drop()]
  const { url } = await startInstance(
    {
      DATABASE_URL: database.url,
      AUTH_BOOTSTRAP_ADMIN_EMAIL: admin.email,
      AUTH_BOOTSTRAP_ADMIN_PASSWORD: admin.password,
      ...settings,
    },
    (end) => void ends.push(end),
  )
  return {
    url,
    async stop() {
      for (const end of ends.reverse()) await end()
    },
  }
}

/** A service for the tests of a file, and machines where its admin is signed in. */
export function gatehouseFixture(settings: Record<string, string> = {}, kind: DatabaseKind = 'sqlite') {
  const service = fixture(() => startGatehouse(settings, kind))
  afterAll(() => service.stop())
  let contexts: string | undefined
  return {
    service,
    async signedIn(): Promise<Machine> {
      const here = machine()
      await here.login(service.url)
      return here
    },
    /** Like `signedIn`, but all machines share one session, which no test may end. */
    async signedInOnce(): Promise<Machine> {
      const here = machine()
      if (contexts === undefined) {
        await here.login(service.url)
        contexts = readFileSync(here.contextsPath, 'utf8')
      }
      mkdirSync(dirname(here.contextsPath), { recursive: true })
      writeFileSync(here.contextsPath, contexts, { mode: 0o600 })
      return here
    },
  }
}

export interface RunOptions {
  input?: string
  env?: Record<string, string>
}

/** The machine of one user: an empty home directory to run `authctl` in. */
export interface Machine {
  folder: string
  /**
   * Runs without a terminal. The first use of a command in a test run starts a process. Later uses run in the test process, which
   * saves the start of Node, most of the time that a command takes. Such runs take turns.
   */
  authctl(command: string | string[], options?: RunOptions): Promise<Ended>
  /** Runs without a terminal and always as a process, for tests of several processes at once. */
  authctlProcess(command: string | string[], options?: RunOptions): Promise<Ended>
  /** Starts a command without a terminal that runs until it is interrupted. */
  start(command: string | string[]): Running
  /** Starts a command in a terminal. */
  terminal(command: string | string[], options?: { env?: Record<string, string>; columns?: number }): Terminal
  login(url: string, as?: { email: string; password: string }): Promise<void>
  contextsPath: string
  readContexts(): {
    current: string | null
    contexts: Record<string, { base_url: string; email: string; tokens: Record<string, unknown> | null; device_token?: string }>
  }
  /** Changes the stored tokens of a context, for example to make them look old. */
  changeTokens(name: string, changes: Record<string, unknown>): void
}

export interface Running {
  /** The next line of stdout. */
  line(): Promise<string>
  interrupt(): void
  exit: Promise<number | null>
}

export interface Terminal {
  /** Waits until the screen shows this text, after the text of the previous call. */
  shows(text: string): Promise<void>
  type(keys: string): void
  /** Whether the program handles Ctrl-C, which it does as soon as it has started. */
  catchesInterrupts(): boolean
  /** Everything shown so far, without control sequences. */
  screen(): string
  /** Waits until the program ends. Returns everything shown, without control sequences, and the exit code. */
  ended(): Promise<{ screen: string; exit: number }>
  /** Waits until the program ends. Returns everything that it sent to the terminal, unchanged. */
  sent(): Promise<string>
  /** Everything that the program has sent to the terminal so far, unchanged. */
  sentSoFar(): string
  /** Waits until the program ends. Returns whether it used colours or emphasis. */
  colours(): Promise<boolean>
}

/** Splits a command into words as a shell does, as far as the tests need it. */
function split(command: string | string[]): string[] {
  if (Array.isArray(command)) return command
  return [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '')
}

export function machine(): Machine {
  const folder = temporaryFolder()
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const baseEnv = {
    ...{ PATH: process.env.PATH ?? '', ...compileCache, HOME: folder, XDG_CONFIG_HOME: join(folder, 'config') },
    // Tests count the requests of a command, and the notice would add one.
    AUTHCTL_NO_UPDATE_NOTICE: '1',
    // As over SSH, where no command opens a browser, whatever the system.
    SSH_TTY: 'none',
  }
  const contextsPath = join(folder, 'config', 'authctl', 'contexts.json')
  const readContexts = () => JSON.parse(readFileSync(contextsPath, 'utf8'))
  const authctlProcess: Machine['authctlProcess'] = (command, { input, env } = {}) =>
    run([cliProgram, ...split(command)], {
      cwd: folder,
      env: { ...baseEnv, ...env },
      ...(input === undefined ? {} : { input }),
    })
  const authctl: Machine['authctl'] = (command, options = {}) => {
    const words = split(command)
    if (isFirstOf(commandOf(words))) return authctlProcess(words, options)
    return inTurn(() => runInside(words, folder, { ...options, env: { ...baseEnv, ...options.env } }))
  }
  return {
    folder,
    authctl,
    authctlProcess,
    start: (command) => startProgram([cliProgram, ...split(command)], folder, baseEnv),
    terminal: (command, { env, columns = 200 } = {}) =>
      openTerminal([cliProgram, ...split(command)], folder, { ...baseEnv, TERM: 'xterm-256color', ...env }, columns),
    async login(url, { email, password } = admin) {
      const { exit, stderr } = await authctl(['login', '--email', email, '--password-stdin', '--base-url', url], {
        input: password,
      })
      if (exit !== 0) throw new Error(`login failed: ${stderr}`)
    },
    contextsPath,
    readContexts,
    changeTokens(name, changes) {
      const file = readContexts()
      Object.assign(file.contexts[name].tokens, changes)
      writeFileSync(contextsPath, JSON.stringify(file))
    },
  }
}

/** Whether no worker of this run has used the command before. The first one creates a folder, which succeeds only once. */
function isFirstOf(command: string): boolean {
  if (typed.has(command)) return false
  typed.add(command)
  try {
    mkdirSync(join(inject('templates').sqlite!.folder, `typed ${command}`))
    return true
  } catch {
    return false
  }
}
const typed = new Set<string>()

/** The longest command path that these words contain in this order, ignoring flags. */
function commandOf(words: string[]): string {
  const plain = words.filter((word) => !word.startsWith('-'))
  const named = commands.map(({ path }) => path).filter((path) => ` ${plain.join(' ')} `.includes(` ${path} `))
  return named.sort((a, b) => b.length - a.length)[0] ?? ''
}

let turn: Promise<unknown> = Promise.resolve()

function inTurn<T>(run: () => Promise<T>): Promise<T> {
  const mine = turn.then(run)
  turn = mine.catch(() => {})
  return mine
}

/** Uses no kept connection, as a new process would: the service might be about to close it. */
function exchangeOnce(request: HttpRequest): Promise<HttpAnswer> {
  return exchangeHttp({ ...request, headers: { ...request.headers, connection: 'close' } })
}

/** Does what `authctl.ts` does, with separate streams and environment. */
async function runInside(words: string[], cwd: string, { input = '', env = {} }: RunOptions): Promise<Ended> {
  const ended = { stdout: '', stderr: '' }
  const into = (name: 'stdout' | 'stderr') =>
    new Writable({
      decodeStrings: false,
      write(text, _, done) {
        ended[name] += text
        done()
      },
    })
  const before = process.cwd()
  process.chdir(cwd)
  try {
    const exit = await main(words, {
      env,
      stdin: Readable.from(input === '' ? [] : [Buffer.from(input)]),
      stdout: into('stdout'),
      stderr: into('stderr'),
      exchange: exchangeOnce,
      now: Date.now,
      sleep: (milliseconds) => sleep(milliseconds),
      configFolder: join(env.XDG_CONFIG_HOME!, 'authctl'),
      openBrowser: undefined,
      onInterrupt: () => () => {},
      leave: () => {},
    })
    return { ...ended, exit }
  } finally {
    process.chdir(before)
  }
}

function startProgram(words: string[], cwd: string, env: Record<string, string>): Running {
  const child = spawn(process.execPath, words, { cwd, env, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    async line() {
      const { value, done } = await lines.next()
      if (done) throw new Error('it ended before another line')
      return value
    },
    interrupt: () => void child.kill('SIGINT'),
    exit: new Promise((resolve) => child.once('close', resolve)),
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal is steered with
const steering = /\u001b\[[0-9;?]*[A-Za-z]|\u001b[()][A-Z0-9]|\u0007/g

function openTerminal(words: string[], cwd: string, env: Record<string, string>, cols: number): Terminal {
  const terminal = spawnOnTerminal(process.execPath, words, { cwd, env, cols, rows: 50 })
  let raw = ''
  let seen = 0
  let exit: number | undefined
  const watchers = new Set<() => void>()
  const changed = () => {
    for (const watcher of watchers) watcher()
  }
  terminal.onData((text) => {
    raw += text
    changed()
  })
  terminal.onExit(({ exitCode, signal }) => {
    // The exit code that a shell reports.
    exit = signal ? 128 + signal : exitCode
    changed()
  })
  const screen = () => raw.replace(steering, '').replaceAll('\r', '')
  const until = (isSo: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!isSo()) return
        watchers.delete(look)
        resolve()
      }
      watchers.add(look)
      look()
    })
  return {
    async shows(text) {
      await until(() => screen().indexOf(text, seen) !== -1 || exit !== undefined)
      const found = screen().indexOf(text, seen)
      if (found === -1) throw new Error(`the terminal never showed "${text}":\n${screen()}`)
      seen = found + text.length
    },
    type: (keys) => terminal.write(keys),
    catchesInterrupts() {
      // Until the child has executed its program, it handles signals as the test process does.
      if (!readFileSync(`/proc/${terminal.pid}/cmdline`, 'utf8').split('\0').includes(words[0]!)) return false
      const [, caught = '0'] = /^SigCgt:\s*(\S+)/m.exec(readFileSync(`/proc/${terminal.pid}/status`, 'utf8')) ?? []
      return (BigInt(`0x${caught}`) & 2n) !== 0n
    },
    screen,
    async ended() {
      await until(() => exit !== undefined)
      return { screen: screen(), exit: exit! }
    },
    async sent() {
      await until(() => exit !== undefined)
      return raw
    },
    sentSoFar: () => raw,
    async colours() {
      await until(() => exit !== undefined)
      return raw.includes('\u001b[')
    },
  }
}

export interface StandIn {
  url: string
  requests: { method: string; path: string; authorization: string | undefined; reason: string | undefined; body: string }[]
}

/** A server that stands in for Gatehouse, for answers that a healthy one seldom gives. */
export async function standIn(
  answer: (request: { method: string; path: string; body: string; turn: number }, response: ServerResponse) => void,
): Promise<StandIn> {
  const requests: StandIn['requests'] = []
  const server = createServer(async (request: IncomingMessage, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { method = '', url: path = '' } = request
    const { authorization } = request.headers
    const reason = request.headersDistinct['x-audit-reason']?.join()
    requests.push({ method, path, authorization, reason, body })
    answer({ method, path, body, turn: requests.length }, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

/** Sends a JSON answer. */
export function reply(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
}

/** An error as the service words it. */
export function apiError(status: number, code: string) {
  return { status, code, title: `it is ${code}`, detail: null, request_id: 'request-1' }
}

/** Registers a user through an app, directly over HTTP, as a browser would. */
export async function register(
  url: string,
  body: { email: string; password: string; app_code: string; first_name?: string },
): Promise<{ user: { id: string } }> {
  const response = await fetch(`${url}/api/v1/auth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`registration failed: ${await response.text()}`)
  return (await response.json()) as { user: { id: string } }
}

/** Creates a user as the admin who is signed in on this machine, directly over HTTP. */
export async function addUser(
  { readContexts }: Machine,
  body: { email: string; password: string; namespace?: string; first_name?: string; last_name?: string },
): Promise<{ id: string }> {
  const { base_url, tokens } = readContexts().contexts.default!
  const response = await fetch(`${base_url}/api/v1/admin/users`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${tokens!.access_token}` },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`creating the user failed: ${await response.text()}`)
  return (await response.json()) as { id: string }
}
