// Measures how long `GET /health` and a refresh take while fifty logins at cost 10 are
// always in flight, and on the same server at rest.
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Children } from '../../scripts/children.ts'
import { record } from './support/results.ts'

const SECONDS = 15
const LOGINS_IN_FLIGHT = 50
const PROBES_PER_SECOND = 100
const BOUND_MS = 20

const gatehouse = fileURLToPath(new URL('../../packages/server/dist/gatehouse.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
const password = 'correct horse battery staple'
const email = 'admin@example.com'
const settings = {
  PORT: '0',
  DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
  AUTH_BCRYPT_COST: '10',
  AUTH_RATE_LIMIT_IP: 'off',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  JWT_ACCESS_SECRET: randomBytes(32).toString('base64'),
  AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
}

const children = new Children()
try {
  const made = await children.run('node', [gatehouse, 'create-admin', '--email', email, '--password-stdin'], {
    stdin: password,
    env: settings,
  })
  if (made.code !== 0) throw new Error(made.stderr)
  const service = children.start('node', [gatehouse, 'serve'], settings)
  const url = await children.waitForLine(service, (line) => (JSON.parse(line) as { url?: string }).url)

  const refresh = await openSession(url)
  const idle = await probe(url)
  report('GET /health at rest', idle)
  const idleRefresh = await repeat(refresh)
  report('a refresh at rest', idleRefresh)
  const storm = startLogins(url)
  const busy = await probe(url)
  report(`GET /health with ${LOGINS_IN_FLIGHT} logins in flight`, busy)
  const busyRefresh = await repeat(refresh)
  report(`a refresh with ${LOGINS_IN_FLIGHT} logins in flight`, busyRefresh)
  const { perSecond, done, refused } = await storm.stop()
  console.log(`${perSecond.toFixed(1)} logins a second meanwhile, ${refused} refused`)
  const what = `GET /health with ${LOGINS_IN_FLIGHT} logins in flight, p99`
  record({ what, ours: quantile(busy, 0.99), unit: 'ms', better: 'lower', bound: BOUND_MS })
  record({ what, beside: 'at rest', ours: quantile(busy, 0.99), peer: quantile(idle, 0.99), unit: 'ms', better: 'lower' })
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const)
    record({
      ...{ what: `a refresh with ${LOGINS_IN_FLIGHT} logins in flight, ${name}`, ours: quantile(busyRefresh, share), unit: 'ms' },
      ...{ beside: 'at rest', peer: quantile(idleRefresh, share), better: 'lower' },
    })
  record({ what: `logins meanwhile, ${LOGINS_IN_FLIGHT} in flight`, ours: perSecond, unit: 'a second', better: 'higher' })
  const served = (100 * done) / (done + refused)
  record({ what: `logins served of ${LOGINS_IN_FLIGHT} in flight`, ours: served, unit: '%', better: 'higher', bound: 100 })
} finally {
  await children.stopAll()
  rmSync(folder, { recursive: true, force: true })
}

/** Sends probes at a fixed pace, without waiting for the previous answer. Returns their times in milliseconds, sorted. */
async function probe(url: string): Promise<number[]> {
  const pending: Promise<number>[] = []
  for (let sent = 0; sent < SECONDS * PROBES_PER_SECOND; sent += 1) {
    pending.push(timeOf(() => fetch(`${url}/api/v1/health`).then((reply) => reply.arrayBuffer())))
    await new Promise((resolve) => setTimeout(resolve, 1000 / PROBES_PER_SECOND))
  }
  return (await Promise.all(pending)).sort((a, b) => a - b)
}

/** Runs one call after another, since each refresh needs the token of the previous one. Returns sorted times in milliseconds. */
async function repeat(work: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  const until = performance.now() + SECONDS * 1_000
  while (performance.now() < until) times.push(await timeOf(work))
  return times.sort((a, b) => a - b)
}

/** Logs in and returns a function that refreshes the session. */
async function openSession(url: string): Promise<() => Promise<void>> {
  const ask = async (path: string, body: object): Promise<string> => {
    const headers = { 'content-type': 'application/json' }
    const reply = await fetch(`${url}/api/v1/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}`)
    return ((await reply.json()) as { refresh_token: string }).refresh_token
  }
  let token = await ask('login', { email, password, app_code: 'authctl' })
  return async () => {
    token = await ask('refresh', { refresh_token: token })
  }
}

async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}

function startLogins(url: string): { stop(): Promise<{ perSecond: number; done: number; refused: number }> } {
  const started = performance.now()
  let done = 0
  let refused = 0
  let stopping = false
  const loop = async () => {
    while (!stopping) {
      const reply = await fetch(`${url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ email, password, app_code: 'authctl' }),
      })
      await reply.arrayBuffer()
      if (reply.status === 200) done += 1
      else if (reply.status === 503) refused += 1
      else throw new Error(`a login answered ${reply.status}`)
      // Happens on machines where fifty logins are more than three seconds of work. A client that
      // retried at once would be a different load.
      if (reply.status === 503) await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }
  const loops = Array.from({ length: LOGINS_IN_FLIGHT }, loop)
  return {
    async stop() {
      stopping = true
      await Promise.all(loops)
      return { perSecond: done / ((performance.now() - started) / 1000), done, refused }
    },
  }
}

function report(what: string, sorted: number[]): void {
  const at = (share: number) => quantile(sorted, share).toFixed(1)
  console.log(`${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms of ${sorted.length}`)
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
