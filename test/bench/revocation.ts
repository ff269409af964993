// Measures the time from sending a revoke until a consumer refuses the token, and until every connected consumer
// has heard of it: with 1, 100 and 1,000 consumers, on one server and from one server to another. It also measures
// their memory, and how they slow down logins.
import { createHmac, hash, hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { type Auth, AuthError, createAuth } from '@gatehouse/sdk'
import { CONSUMER_KEY_INFO, CONSUMER_TOKEN_TYPE, keyIdOf } from '@gatehouse/sdk/protocol'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
import { record } from './support/results.ts'

const STREAMS = [1, 100, 1_000]
const REVOKES = 60
const PAUSE_MS = 40
const LOGIN_SECONDS = 8
const LOGINS_IN_FLIGHT = 8
const P99_BOUND_MS = 500

const gatehouse = fileURLToPath(new URL('../../packages/server/dist/gatehouse.js', import.meta.url))
const password = 'correct horse battery staple'
const email = 'admin@example.com'
const secret = randomBytes(32).toString('base64')
const settings = {
  PORT: '0',
  AUTH_BCRYPT_COST: '10',
  AUTH_RATE_LIMIT_IP: 'off',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  JWT_ACCESS_SECRET: secret,
  AUTH_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  AUTH_BOOTSTRAP_ADMIN_EMAIL: email,
  AUTH_BOOTSTRAP_ADMIN_PASSWORD: password,
}

interface Server {
  url: string
  pid: number
}

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  const sqlite = await createDatabase('sqlite', templates)
  const single = await startServer(sqlite.url)
  await measure('one server, sqlite', single, single, 50)
  await measureLogins(single)

  const postgres = await createDatabase('postgres', templates)
  const one = await startServer(postgres.url)
  const two = await startServer(postgres.url)
  await measure('one server, postgres', one, one, 50)
  await measure('to another server, postgres', one, two, 150)
} finally {
  await children.stopAll()
  await stop()
}

async function startServer(databaseUrl: string): Promise<Server> {
  const child = children.start('node', [gatehouse, 'serve'], { ...settings, DATABASE_URL: databaseUrl })
  const url = await children.waitForLine(child, (line) => (JSON.parse(line) as { url?: string }).url)
  return { url, pid: child.pid! }
}

async function measure(where: string, writer: Server, reader: Server, boundMs: number): Promise<void> {
  console.log(where)
  const { login, revoke } = await prepare(writer)
  // This consumer verifies the token with the SDK, as an app does. The others only listen.
  const consumer = createAuth({ authUrl: reader.url, appCode: 'bench', secret })
  await until(() => consumer.health().revocation.connected)
  for (const count of STREAMS) {
    const streams = await openStreams(reader, count - 1)
    const [rejected, heard]: [number[], number[]] = [[], []]
    for (let index = 0; index < REVOKES; index += 1) {
      const token = await login()
      consumer.verifySync(token)
      const started = performance.now()
      const arrivals = streams.map((stream) => stream.next().then(() => heard.push(performance.now() - started)))
      const refusal = until(() => isRefused(consumer, token)).then(() => rejected.push(performance.now() - started))
      await revoke()
      await Promise.all([refusal, ...arrivals])
      await sleep(PAUSE_MS)
    }
    report(`  ${String(count).padStart(5)} consumers, refused`, rejected, `, server at ${rssOf(reader)} MB`)
    if (count > 1) report('         heard by all', heard, '')
    if (count === Math.max(...STREAMS)) {
      const what = `revoke to refusal, ${where}`
      record({ what: `${what}, p50`, ours: quantile(rejected, 0.5), unit: 'ms', better: 'lower', bound: boundMs })
      record({ what: `${what}, p99`, ours: quantile(rejected, 0.99), unit: 'ms', better: 'lower', bound: P99_BOUND_MS })
    }
    for (const stream of streams) stream.close()
    await sleep(200)
  }
  await consumer.close()
}

/** Measures logins per second, at rest and with a thousand streams that receive ten revokes per second. */
async function measureLogins(server: Server): Promise<void> {
  const { revoke } = await prepare(server)
  const alone = await countLogins(server)
  const streams = await openStreams(server, 1_000)
  let stopping = false
  const revoking = (async () => {
    while (!stopping) {
      await revoke()
      await sleep(100)
    }
  })()
  const beside = await countLogins(server)
  stopping = true
  await revoking
  for (const stream of streams) stream.close()
  const what = 'logins beside 1,000 streams and 10 revokes a second, sqlite'
  record({ what, beside: 'at rest', ours: beside, peer: alone, unit: 'a second', better: 'higher' })
}

async function countLogins(server: Server): Promise<number> {
  const started = performance.now()
  let done = 0
  const loop = async () => {
    while (performance.now() - started < LOGIN_SECONDS * 1_000) {
      await post(server, '/auth/login', { email, password, app_code: 'authctl' })
      done += 1
    }
  }
  await Promise.all(Array.from({ length: LOGINS_IN_FLIGHT }, loop))
  return done / ((performance.now() - started) / 1_000)
}

/** Creates an app with one user, whose grant can be revoked and granted again. */
async function prepare(server: Server): Promise<{ login(): Promise<string>; revoke(): Promise<void> }> {
  const { access_token: token } = await post(server, '/auth/login', { email, password, app_code: 'authctl' })
  await post(server, '/admin/apps', { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, token, [201, 409])
  const registration = { email: `${randomBytes(6).toString('hex')}@example.com`, password, app_code: 'bench' }
  const { user } = await post(server, '/auth/register', registration, undefined, [201])
  const path = `${server.url}/api/v1/admin/users/${user?.id}/apps/bench`
  const call = async (method: string) => {
    const reply = await fetch(path, { method, headers: { authorization: `Bearer ${token}` } })
    if (!reply.ok) throw new Error(`${method} answered ${reply.status} ${await reply.text()}`)
    await reply.arrayBuffer()
  }
  let isGranted = true
  const grant = async () => {
    if (!isGranted) await call('POST')
    isGranted = true
  }
  return {
    async login() {
      await grant()
      return (await post(server, '/auth/login', registration)).access_token!
    },
    async revoke() {
      await grant()
      isGranted = false
      await call('DELETE')
    },
  }
}

interface Answer {
  access_token?: string
  user?: { id: string }
}

async function post(server: Server, path: string, body: object, token?: string, expected = [200]): Promise<Answer> {
  const reply = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
  })
  if (!expected.includes(reply.status)) throw new Error(`${path} answered ${reply.status} ${await reply.text()}`)
  return (await reply.json()) as Answer
}

function assertion(): string {
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const key = Buffer.from(hkdfSync('sha256', secret, '', CONSUMER_KEY_INFO, 32))
  const iat = Math.floor(Date.now() / 1_000)
  const kids = [keyIdOf(secret, hash)]
  const signed = `${encode({ alg: 'HS256', typ: CONSUMER_TOKEN_TYPE })}.${encode({ sub: 'bench', iat, exp: iat + 60, kids })}`
  return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
}

interface Stream {
  /** Resolves when the next event arrives. */
  next(): Promise<void>
  close(): void
}

async function openStreams(server: Server, count: number): Promise<Stream[]> {
  // Start at the current cursor, or the streams would first receive earlier revocations.
  const token = assertion()
  const headers = { authorization: `Bearer ${token}` }
  const { cursor } = (await (await fetch(`${server.url}/api/v1/revocations`, { headers })).json()) as { cursor: number }
  const streams: Stream[] = []
  while (streams.length < count) {
    const some = Math.min(50, count - streams.length)
    streams.push(...(await Promise.all(Array.from({ length: some }, () => openStream(server, token, cursor)))))
  }
  return streams
}

/** Uses plain sockets: a thousand HTTP clients in this process would be slower than what they measure. */
async function openStream(server: Server, token: string, cursor: number): Promise<Stream> {
  const { hostname, port } = new URL(server.url)
  const socket: Socket = connect(Number(port), hostname)
  let heard: (() => void) | undefined
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject)
    socket.write(
      `GET /api/v1/revocations/stream HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${token}\r\nLast-Event-ID: ${cursor}\r\n\r\n`,
    )
    socket.on('data', (chunk: Buffer) => {
      if (chunk.includes(': open')) resolve()
      if (chunk.includes('data: ')) heard?.()
    })
  })
  return {
    next: () =>
      new Promise((resolve) => {
        heard = resolve
      }),
    close: () => void socket.destroy(),
  }
}

function rssOf({ pid }: Server): number {
  const pages = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  return Math.round(pages / 1_024)
}

function isRefused(consumer: Auth, token: string): boolean {
  try {
    consumer.verifySync(token)
    return false
  } catch (error) {
    if (!AuthError.is(error, 'TOKEN_REVOKED')) throw error
    return true
  }
}

/** Checks the condition at each turn of the event loop, where requests would arrive. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function report(what: string, times: number[], more: string): void {
  const at = (share: number) => quantile(times, share).toFixed(1)
  console.log(`${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, slowest ${at(1)} ms${more}`)
}

function quantile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!
}
