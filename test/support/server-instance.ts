// Starts whole servers inside the test process: `serve()` with its own workers, pool and memory, so that two servers share only
// their database, as two programs do. This takes a few milliseconds instead of most of a second of processor time. To test
// signals, kills, exit codes or streams, start a program with `server-process.ts`.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { type CallOptions, callHttp, ownSecrets, PASSWORD, type Reply, testEnvironment } from './client.ts'
import { secretIn } from './secrets-in-log.ts'

/** A `ServerProcess` is also a `ServerInstance`. */
export interface ServerInstance {
  url: string
  /** Everything that it logged, in lines. */
  lines(): string[]
  /** Stops it as SIGTERM stops a program. Throws if the program would have exited with a code other than 0. */
  stop(): Promise<unknown>
  call(method: string, path: string, options?: CallOptions): Promise<Reply>
  login(email: string, app: string, password?: string): Promise<Reply>
}

type Parts = typeof import('./server-parts.ts')
type Hasher = InstanceType<Parts['PasswordHasher']>

/** Instances in this process with the same bcrypt cost share hash threads: starting one takes as long as a hundred requests. */
const hashers = new Map<number, Hasher>()

function sharedHasher({ PasswordHasher }: Parts, cost: number): Hasher {
  const hasher = hashers.get(cost) ?? new PasswordHasher({ cost, threads: 1 })
  hashers.set(cost, hasher)
  hasher.close = async () => {}
  return hasher
}

/** Starts a server with these settings in addition to the defaults. It is stopped when the test or its file ends. */
export async function startInstance(
  settings: Record<string, string>,
  onEnd: (fn: () => Promise<void>) => void = onTestFinished,
): Promise<ServerInstance> {
  const parts: Parts = await import(/* @vite-ignore */ inject('programs').serverParts)
  const mailDir = mkdtempSync(join(tmpdir(), 'gatehouse-mail-'))
  const environment = { ...testEnvironment, LOG_LEVEL: 'debug', PORT: '0', AUTH_MAIL_DIR: mailDir, ...settings }
  const config = parts.loadConfig(environment, ownSecrets)
  const lines: string[] = []
  const logger = parts.createLogger(config.logLevel, { write: (line) => void lines.push(line.trimEnd()) })
  const deps = parts.createDeps(config, { logger })
  deps.passwords = sharedHasher(parts, config.bcryptCost)
  const server = await parts.serve(deps)
  let stopped: Promise<void> | undefined
  const stop = () => (stopped ??= server.stop())
  onEnd(async () => {
    await stop()
    rmSync(mailDir, { recursive: true, force: true })
    const telling = lines.find((line) => secretIn(line) !== undefined)
    if (telling !== undefined) throw new Error(`the log tells ${secretIn(telling)}: ${telling}`)
  })

  const call = (method: string, path: string, options?: CallOptions) => callHttp(`${server.url}/api/v1${path}`, method, options)
  return {
    url: server.url,
    lines: () => [...lines],
    stop,
    call,
    login: (email, app, password = PASSWORD) => call('POST', '/auth/login', { body: { email, password, app_code: app } }),
  }
}
