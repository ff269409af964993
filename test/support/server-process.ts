// Starts the server as operators run it: as a program on its own port.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, onTestFinished } from 'vitest'
import { type CallOptions, callHttp, PASSWORD, type Reply, testEnvironment } from './client.ts'
import { compileCache, compileCacheOfServers } from './compile-cache.ts'
import { secretIn } from './secrets-in-log.ts'

const source = fileURLToPath(new URL('../../packages/server/src/gatehouse.ts', import.meta.url))
/** Ends the program with its parent, since a test worker can end before its last hook has run. */
const endWithParent =
  'data:text/javascript,const parent = process.ppid; setInterval(() => process.ppid === parent || process.exit(1), 500).unref()'
const startTimeoutMs = 60_000

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface ServerProcess {
  url: string
  pid: number
  /** Everything that it wrote to stdout, in lines. */
  lines(): string[]
  /** Sends SIGTERM and waits for the end. */
  stop(): Promise<Exit>
  signal(signal: NodeJS.Signals): void
  ended: Promise<Exit>
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  login(email: string, app: string, password?: string): Promise<Reply>
}

export interface Outcome extends Exit {
  stdout: string
  stderr: string
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

function start(words: readonly string[], settings: Record<string, string>, within: readonly string[] = [], file?: string) {
  // The files that the server keeps next to the database (`.gatehouse/`) are removed with the folder.
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-program-'))
  // Benchmarks run without vitest.
  const program = process.env.VITEST ? [file ?? inject('programs').gatehouse] : [source]
  const line = [...within, process.execPath, '--import', endWithParent, ...program, ...words]
  const child = spawn(line[0]!, line.slice(1), {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      ...(words.includes('serve') ? compileCacheOfServers : compileCache),
      ...testEnvironment,
      LOG_LEVEL: 'debug',
      PORT: '0',
      ...settings,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  running.add(child)
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8')
    child[name].on('data', (text: string) => {
      output[name] += text
    })
  }
  const ended = new Promise<Exit>((resolve, reject) => {
    child.once('close', (code, signal) => {
      running.delete(child)
      rmSync(folder, { recursive: true, force: true })
      const telling = output.stdout.split('\n').find((line) => line.startsWith('{') && secretIn(line) !== undefined)
      if (telling) reject(new Error(`the log tells ${secretIn(telling)}: ${telling}`))
      else resolve({ code, signal })
    })
  })
  return { child, output, ended }
}

/** Runs `gatehouse WORDS` to its end. `within` is a command that prepares the environment and then executes it. */
export async function runGatehouse(
  words: readonly string[],
  settings: Record<string, string>,
  input = '',
  within: readonly string[] = [],
): Promise<Outcome> {
  const { child, output, ended } = start(words, settings, within)
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const exit = await ended
  return { ...exit, ...output }
}

/**
 * Starts `gatehouse serve` and waits until it listens; it is killed when the test ends. Throws if it does not get
 * that far. `within` is a command that prepares the environment and then executes the server, as `env` does. `file`
 * starts a server other than that of the sources.
 */
export async function startServer(
  settings: Record<string, string>,
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
  within: readonly string[] = [],
  file?: string,
): Promise<ServerProcess> {
  const { child, output, ended } = start(['serve'], settings, within, file)
  onEnd(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no server after ${startTimeoutMs} ms: ${output.stderr}`)), startTimeoutMs)
    const look = () => {
      const line = output.stdout.split('\n').find((line) => line.includes('"msg":"listening"'))
      if (!line) return
      clearTimeout(timer)
      child.stdout.off('data', look)
      resolve(JSON.parse(line).url)
    }
    child.stdout.on('data', look)
    ended.then(({ code }) => {
      clearTimeout(timer)
      reject(new Error(`the server ended with ${code}: ${output.stderr}`))
    }, reject)
  })
  const call = (method: string, path: string, options?: CallOptions) => callHttp(`${url}/api/v1${path}`, method, options)
  return {
    url,
    pid: child.pid!,
    ended,
    call,
    lines: () => output.stdout.split('\n').filter((line) => line !== ''),
    signal: (signal) => void child.kill(signal),
    stop() {
      child.kill('SIGTERM')
      return ended
    },
    login: (email, app, password = PASSWORD) => call('POST', '/auth/login', { body: { email, password, app_code: app } }),
  }
}
