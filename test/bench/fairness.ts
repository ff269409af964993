// Compares how long logins take while one user or one address floods the service with passwords, and
// without the flood. On the same server, sixteen other users, each from a different address, sign in at a
// quarter of the rate that the hash threads can handle.
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Children } from '../../scripts/children.ts'
import { record } from './support/results.ts'
import { ADMIN, call, median, PASSWORD, startGatehouse, usualSettings } from './support/server-under-test.ts'

const USERS = 16
const ROUNDS = 3
const SECONDS = 10
const IN_FLIGHT = 50
const SHARE_OF_CAPACITY = 0.25
const RATIO_BOUND = 2

interface Answer {
  status: number
  retryAfter: number
}

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
// Rate limits are off, so that only the lines are measured. A flooding client that is refused waits for `Retry-After`.
const settings = {
  ...usualSettings,
  DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
  AUTH_BCRYPT_COST: '10',
  AUTH_TRUST_PROXY: '1',
  AUTH_RATE_LIMIT_ACCOUNT: 'off',
  AUTH_RATE_LIMIT_USER: 'off',
}
const children = new Children()
const floods = {
  'one user proves a password again and again': () =>
    send('/auth/2fa/setup', { password: PASSWORD }, { ...from(0), authorization: `Bearer ${flooder.access_token}` }),
  'one address tries passwords of strangers': () => send('/auth/login', loginOf(someMail()), from(0)),
}
let url: string
// biome-ignore lint/suspicious/noExplicitAny: the answer of a registration.
let flooder: any
let mails: string[]

try {
  url = (await startGatehouse(children, settings)).url
  const { body: admin } = await call(`${url}/api/v1/auth/login`, {
    body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' },
  })
  await call(`${url}/api/v1/admin/apps`, {
    body: { code: 'bench', name: 'Bench', auto_grant_on_signup: true },
    headers: { authorization: `Bearer ${admin.access_token}` },
  })
  mails = Array.from({ length: USERS }, someMail)
  for (const email of mails) await send('/auth/register', loginOf(email), from(1))
  flooder = (await call(`${url}/api/v1/auth/register`, { body: loginOf(someMail()), headers: from(0) })).body

  const perSecond = (await capacity()) * SHARE_OF_CAPACITY
  console.log(`others: ${perSecond.toFixed(1)} logins a second`)
  for (const [name, flood] of Object.entries(floods)) await measure(name, flood, perSecond)
} finally {
  await children.stopAll()
  rmSync(folder, { recursive: true, force: true })
}

/** Alternates between the two, so that other load on the machine affects both. The result is the median of the rounds' ratios. */
async function measure(name: string, flood: () => Promise<Answer>, perSecond: number): Promise<void> {
  const quiet: number[] = []
  const flooded: number[] = []
  let refused = 0
  let floodRefused = 0
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = await logInOthers(perSecond)
    const storm = startFlood(flood)
    const during = await logInOthers(perSecond)
    floodRefused += await storm.stop()
    quiet.push(median(before.times))
    flooded.push(median(during.times))
    refused += during.refused
  }
  console.log(`${name}: ${floodRefused} of the flood were refused`)
  const ratio = median(flooded.map((ms, round) => ms / quiet[round]!))
  const figure = { unit: 'ms', better: 'lower' as const, bound: RATIO_BOUND }
  record({
    what: `login of others while ${name}, median`,
    beside: 'without it',
    ours: median(flooded),
    peer: median(quiet),
    ratio,
    ...figure,
  })
  record({ what: `logins of others refused while ${name}`, ours: refused, unit: '503s', better: 'lower', bound: 0 })
}

/** Logins per second when all hash threads are busy. */
async function capacity(): Promise<number> {
  const started = performance.now()
  const count = 4 * USERS
  let next = 0
  const loop = async () => {
    while (next < count) await logInAs(next++ % USERS)
  }
  await Promise.all(Array.from({ length: USERS }, loop))
  return count / ((performance.now() - started) / 1_000)
}

/** Sends logins at a steady pace, without waiting for the previous answer. */
async function logInOthers(perSecond: number): Promise<{ times: number[]; refused: number }> {
  const times: number[] = []
  let refused = 0
  const pending: Promise<void>[] = []
  for (let sent = 0; sent < perSecond * SECONDS; sent += 1) {
    const started = performance.now()
    pending.push(
      logInAs(sent % USERS).then(({ status }) => {
        if (status === 503) refused += 1
        else times.push(performance.now() - started)
      }),
    )
    await pause(1_000 / perSecond)
  }
  await Promise.all(pending)
  return { times, refused }
}

function startFlood(flood: () => Promise<Answer>): { stop(): Promise<number> } {
  let refused = 0
  let stopping = false
  const loop = async () => {
    while (!stopping) {
      const { status, retryAfter } = await flood()
      if (status !== 503) continue
      refused += 1
      await pause(retryAfter * 1_000)
    }
  }
  const loops = Array.from({ length: IN_FLIGHT }, loop)
  return {
    async stop() {
      stopping = true
      await Promise.all(loops)
      return refused
    },
  }
}

function logInAs(index: number): Promise<Answer> {
  return send('/auth/login', loginOf(mails[index]!), from(index + 2))
}

/** Throws on an answer that is neither the result of a hash nor a refusal because the queue is full. */
async function send(path: string, body: object, headers: Record<string, string>): Promise<Answer> {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
  const reply = await fetch(`${url}/api/v1${path}`, init)
  const text = await reply.text()
  if (![200, 201, 401, 503].includes(reply.status)) throw new Error(`${path} answered ${reply.status} ${text.slice(0, 300)}`)
  return { status: reply.status, retryAfter: Number(reply.headers.get('retry-after')) }
}

function loginOf(email: string) {
  return { email, password: PASSWORD, app_code: 'bench' }
}

function from(index: number): Record<string, string> {
  return { 'x-forwarded-for': `2001:db8:${index}::1` }
}

function someMail(): string {
  return `${randomUUID()}@example.com`
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
