// Measures logins with default settings, 1 to 64 in flight, at costs 10 and 12, next to better-auth with each of three bcrypt
// packages, and then what a flood costs other users. At cost 10 a refused login ends the bench. At cost 12, 64 in flight are more
// work than may wait, so a refused login is retried after `Retry-After`.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Children } from '../../scripts/children.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { emptyDatabase } from './support/empty-database.ts'
import { record } from './support/results.ts'
import {
  ADMIN,
  call,
  median,
  PASSWORD,
  type ServerUnderTest,
  startGatehouse,
  startPeer,
  usualSettings,
} from './support/server-under-test.ts'

const IN_FLIGHT = [1, 2, 4, 8, 16, 64]
const COSTS = [10, 12]
const ROUNDS = 2
const SECONDS = 4
const PEERS = { bcryptjs: 'better-auth, bcryptjs', native: 'better-auth, native', rust: 'better-auth, @node-rs/bcrypt' }
const OTHERS = 20
/** The `Retry-After` of a refusal. */
const RETRY_MS = 2_000
const FLOOD = { passwordChanges: 24, logins: 100 }

/** A product under test, and how its users sign in. Each lane is a different user. */
interface Subject {
  name: string
  login(lane: number): Promise<unknown>
}

interface Sample {
  perSecond: number
  refused: number
  /** The time of each login in milliseconds. */
  times: number[]
}

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  for (const kind of ['sqlite', 'postgres'] as const) {
    for (const cost of COSTS) {
      await compareLogins(kind, cost)
      await children.stopAll()
    }
    await floodOthers(kind)
    await children.stopAll()
  }
} finally {
  await children.stopAll()
  await stop()
}

async function compareLogins(kind: DatabaseKind, cost: number): Promise<void> {
  console.log(`\n${kind}, bcrypt at cost ${cost}`)
  const { url } = await createDatabase(kind, templates)
  const server = await startGatehouse(children, { ...usualSettings, DATABASE_URL: url, AUTH_BCRYPT_COST: String(cost) })
  const ours = await usersOf(server)
  const peers: Subject[] = []
  for (const [bcrypt, name] of Object.entries(PEERS)) peers.push(await betterAuthOn(kind, { name, bcrypt, cost }))
  for (const inFlight of IN_FLIGHT) {
    const refused = await compareAt(`${inFlight} in flight, cost ${cost}, ${kind}`, inFlight, ours, peers)
    if (refused > 0) console.log(`  ${refused} logins of ours were refused, and came again`)
    if (refused > 0 && cost === Math.min(...COSTS)) throw new Error('at this cost nobody may be refused')
  }
}

/** Measures the products in turns, starting with a different one each round. Returns how many of our logins were refused. */
async function compareAt(what: string, inFlight: number, ours: Subject, peers: Subject[]): Promise<number> {
  const subjects = [ours, ...peers]
  const samples = new Map<Subject, Sample[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round < ROUNDS; round += 1) {
    const first = round % subjects.length
    for (const subject of [...subjects.slice(first), ...subjects.slice(0, first)])
      samples.get(subject)!.push(await loginFor(SECONDS, inFlight, subject.login))
  }
  const of = (subject: Subject) => samples.get(subject)!
  for (const peer of peers) {
    const ratio = median(of(ours).map(({ perSecond }, round) => perSecond / of(peer)[round]!.perSecond))
    const rate = (subject: Subject) => median(of(subject).map(({ perSecond }) => perSecond))
    record({
      what: `login, ${what}`,
      beside: peer.name,
      ours: rate(ours),
      peer: rate(peer),
      ratio,
      unit: 'a second',
      better: 'higher',
    })
  }
  const middle = (subject: Subject) => median(of(subject).flatMap(({ times }) => times))
  for (const peer of inFlight === 1 ? peers : [])
    record({
      what: `login, ${what}, p50`,
      beside: peer.name,
      ours: middle(ours),
      peer: middle(peer),
      unit: 'ms',
      better: 'lower',
    })
  return of(ours).reduce((sum, { refused }) => sum + refused, 0)
}

async function loginFor(seconds: number, inFlight: number, login: (lane: number) => Promise<unknown>): Promise<Sample> {
  const started = performance.now()
  const times: number[] = []
  let refused = 0
  const isServed = async (number: number) => {
    try {
      await login(number)
      return true
    } catch (error) {
      if (!(error instanceof Error && error.message.includes('answered 503'))) throw error
      refused += 1
      await sleep(RETRY_MS)
      return false
    }
  }
  const lane = async (_: unknown, number: number) => {
    let begun = performance.now()
    while (performance.now() - started < seconds * 1_000) {
      if (!(await isServed(number))) continue
      times.push(performance.now() - begun)
      begun = performance.now()
    }
  }
  await Promise.all(Array.from({ length: inFlight }, lane))
  return { perSecond: (times.length * 1_000) / (performance.now() - started), refused, times }
}

/** Registers a user for each lane. Each signs in from a different address. */
async function usersOf(server: ServerUnderTest): Promise<Subject & { tokenOf(lane: number): string }> {
  const api = `${server.url}/api/v1`
  const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
  const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
  await call(`${api}/admin/apps`, { body: { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, headers })
  const users: { email: string; token: string }[] = []
  const register = async () => {
    while (users.length < Math.max(...IN_FLIGHT)) {
      const email = `${randomUUID()}@example.com`
      const { body } = await call(`${api}/auth/register`, { body: { email, password: PASSWORD, app_code: 'bench' } })
      users.push({ email, token: body.access_token })
    }
  }
  // Only four at once, because more of the most expensive hashes would overflow the queue.
  await Promise.all([register(), register(), register(), register()])
  return {
    name: 'gatehouse',
    login: (lane) =>
      call(`${api}/auth/login`, {
        body: { email: users[lane]!.email, password: PASSWORD, app_code: 'bench' },
        headers: { 'x-forwarded-for': `10.0.0.${lane}` },
      }),
    tokenOf: (lane) => users[lane]!.token,
  }
}

async function betterAuthOn(kind: DatabaseKind, peer: { name: string; bcrypt: string; cost: number }): Promise<Subject> {
  const env = { DATABASE_URL: await emptyDatabase(kind, templates), BCRYPT: peer.bcrypt, COST: String(peer.cost) }
  const { url } = await startPeer(children, 'better-auth', peer.name, env)
  const headers = { origin: url }
  const emails = Array.from({ length: Math.max(...IN_FLIGHT) }, () => `${randomUUID()}@example.com`)
  await Promise.all(
    emails.map((email) =>
      call(`${url}/api/auth/sign-up/email`, { body: { email, password: PASSWORD, name: 'A User' }, headers }),
    ),
  )
  return {
    name: peer.name,
    login: (lane) => call(`${url}/api/auth/sign-in/email`, { body: { email: emails[lane], password: PASSWORD }, headers }),
  }
}

/** Measures the logins of 20 users while another user keeps 24 password changes in flight and one address 100 logins. */
async function floodOthers(kind: DatabaseKind): Promise<void> {
  const { url } = await createDatabase(kind, templates)
  const server = await startGatehouse(children, {
    ...usualSettings,
    DATABASE_URL: url,
    AUTH_BCRYPT_COST: '10',
    AUTH_TRUST_PROXY: '1',
    AUTH_RATE_LIMIT_ACCOUNT: 'off',
    AUTH_RATE_LIMIT_USER: 'off',
    AUTH_LOCKOUT_THRESHOLD: '1000',
  })
  const users = await usersOf(server)
  const logIn = async () => median((await loginFor(2 * SECONDS, OTHERS, users.login)).times)
  await logIn()
  const alone = await logIn()
  const flood = startFlood(server, users)
  await sleep(1_000)
  const flooded = await logIn()
  await flood.stop()
  record({
    ...{ what: `login of ${OTHERS} others beside a flood, p50, ${kind}`, ours: flooded, unit: 'ms', better: 'lower' },
    ...{ beside: 'without the flood', peer: alone, bound: 2 },
  })
}

function startFlood({ url }: ServerUnderTest, users: { login(lane: number): Promise<unknown>; tokenOf(lane: number): string }) {
  const [user, address] = [OTHERS, OTHERS + 1]
  const change = () =>
    fetch(`${url}/api/v1/auth/password/change`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${users.tokenOf(user)}` },
      body: JSON.stringify({ current_password: 'not this password', new_password: 'another horse battery staple' }),
    }).then((reply) => reply.text())
  let isStopping = false
  const keep = async (work: () => Promise<unknown>) => {
    // It does not matter whether requests of the flood are refused.
    while (!isStopping) await work().catch(() => {})
  }
  const loops = [
    ...Array.from({ length: FLOOD.passwordChanges }, () => keep(change)),
    ...Array.from({ length: FLOOD.logins }, () => keep(() => users.login(address))),
  ]
  return {
    async stop() {
      isStopping = true
      await Promise.all(loops)
    },
  }
}
