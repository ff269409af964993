// Starts a server, ours or a peer's, and measures its processor time and its memory from outside.
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Children } from '../../../scripts/children.ts'

const clockTickMs = 10
const gatehouse = fileURLToPath(new URL('../../../packages/server/dist/gatehouse.js', import.meta.url))
const peers = fileURLToPath(new URL('../peers', import.meta.url))

export const PASSWORD = 'correct horse battery staple'
export const ADMIN = 'admin@example.com'

/** Settings of every benchmarked service: a free port, new secrets, an admin, and no rate limit by address. */
export const usualSettings = {
  PORT: '0',
  AUTH_RATE_LIMIT_IP: 'off',
  JWT_ACCESS_SECRET: randomBytes(32).toString('base64'),
  AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN,
  AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD,
}

export interface ServerUnderTest {
  name: string
  url: string
  pid: number
}

export async function startGatehouse(children: Children, env: Record<string, string>): Promise<ServerUnderTest> {
  // `deploy/` starts the server with the same setting.
  return start(children, 'gatehouse', [gatehouse, 'serve'], { MALLOC_ARENA_MAX: '1', ...env })
}

/** Starts a server from a source file of this repository. */
export async function startProgram(children: Children, file: string, env: Record<string, string>): Promise<ServerUnderTest> {
  return start(children, 'program', [file], env)
}

/** Starts a server of `test/bench/peers`. */
export async function startPeer(
  children: Children,
  file: string,
  name: string,
  env: Record<string, string>,
): Promise<ServerUnderTest> {
  installPeers()
  return start(children, name, [`${peers}/${file}.mjs`], env)
}

/** Installs the peers that the benches compare with, unless they are installed already. */
export function installPeers(): void {
  if (existsSync(`${peers}/node_modules/@better-auth/oauth-provider`)) return
  const { status } = spawnSync('pnpm', ['install', '--frozen-lockfile'], { cwd: peers, stdio: ['ignore', 2, 2] })
  if (status !== 0) throw new Error('the peers could not be installed')
}

async function start(children: Children, name: string, args: string[], env: Record<string, string>): Promise<ServerUnderTest> {
  const child = children.start('node', args, env)
  const url = await children.waitForLine(child, urlIn)
  return { name, url, pid: child.pid! }
}

function urlIn(line: string): string | undefined {
  return line.startsWith('{') ? (JSON.parse(line) as { url?: string }).url : undefined
}

/** Processor time that a process and its threads have used, in milliseconds (Linux). */
export function cpuMs({ pid }: { pid: number }): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * clockTickMs
}

/** Resident memory in MiB (Linux). */
export function rssMb({ pid }: { pid: number }): number {
  return Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024)
}

export interface Load {
  perSecond: number
  cpuMsPerCall: number
}

/** Makes `count` calls, `inFlight` at a time, and measures what each cost the server. */
export async function load(
  server: ServerUnderTest,
  { inFlight, count }: { inFlight: number; count: number },
  call: (lane: number, index: number) => Promise<unknown>,
): Promise<Load> {
  const cpu = cpuMs(server)
  const started = performance.now()
  let next = 0
  const lane = async (_: unknown, number: number) => {
    while (next < count) await call(number, next++)
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  const seconds = (performance.now() - started) / 1_000
  return { perSecond: count / seconds, cpuMsPerCall: (cpuMs(server) - cpu) / count }
}

// biome-ignore lint/suspicious/noExplicitAny: the peers' answers have shapes of their own.
export type Answer = { body: any; headers: Headers }

export async function call(url: string, init: { body?: unknown; headers?: Record<string, string> } = {}): Promise<Answer> {
  const json = init.body !== undefined && !(init.body instanceof URLSearchParams)
  const reply = await fetch(url, {
    method: init.body === undefined ? 'GET' : 'POST',
    headers: { ...(json ? { 'content-type': 'application/json' } : {}), ...init.headers },
    ...(init.body === undefined ? {} : { body: json ? JSON.stringify(init.body) : (init.body as URLSearchParams) }),
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${url} answered ${reply.status} ${text.slice(0, 300)}`)
  return { body: text === '' ? undefined : JSON.parse(text), headers: reply.headers }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
