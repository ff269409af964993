// Measures register, login, refresh, "who am I" and the list of users, in turns with better-auth at the same bcrypt cost and
// oidc-provider. Processor time is that of the server process with all threads. For all of them SQLite is in memory.
import { randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Children } from '../../scripts/children.ts'
import { createDatabase, type DatabaseKind, prepareTemplates } from '../support/database.ts'
import { emptyDatabase } from './support/empty-database.ts'
import { record } from './support/results.ts'
import {
  ADMIN,
  call,
  type Load,
  load,
  median,
  PASSWORD,
  rssMb,
  type ServerUnderTest,
  startGatehouse,
  startPeer,
  usualSettings,
} from './support/server-under-test.ts'

const COST = 10
const ROUNDS = 3
const LISTED_USERS = 100_000

const fromServer = createRequire(new URL('../../packages/server/package.json', import.meta.url))
const fromPeers = createRequire(fileURLToPath(new URL('./peers/package.json', import.meta.url)))
const settings = { ...usualSettings, AUTH_BCRYPT_COST: String(COST) }

/** A product under test, and what its users do. Each lane is a different user. */
interface Subject {
  server: ServerUnderTest
  register?(index: number): Promise<unknown>
  login?(lane: number): Promise<unknown>
  refresh?(lane: number): Promise<unknown>
  me?(lane: number): Promise<unknown>
  list?(): Promise<unknown>
}
type Deed = Exclude<keyof Subject, 'server'>

const bounds: Partial<Record<Deed, Record<string, number>>> = {
  register: { 'better-auth, native': 2.2 },
  login: { 'better-auth, bcryptjs': 6, 'better-auth, native': 2.5 },
  refresh: { 'oidc-provider': 0.7, 'better-auth as OAuth provider': 0.12 },
  me: { 'oidc-provider': 0.95, 'better-auth': 0.1 },
  list: { 'better-auth': 0.2 },
}
/**
 * Calls that hash a password are limited by the hash, so calls per second are compared. For
 * the others it is the server's processor time.
 */
const isHashed = (deed: Deed) => deed === 'register' || deed === 'login'

/** At the end of each round some lanes are idle, so a round takes seconds. */
const hashed = { inFlight: 16, count: 240 }

const children = new Children()
const { templates, stop } = await prepareTemplates(['sqlite', 'postgres'])
try {
  for (const kind of ['sqlite', 'postgres'] as const) {
    console.log(`\n${kind}, bcrypt at cost ${COST}`)
    const { url } = await createDatabase(kind, templates)
    const ours = await gatehouseOn(url)
    const peers = [await betterAuthOn(await emptyDatabase(kind, templates), 'bcryptjs')]
    const native = [
      await betterAuthOn(await emptyDatabase(kind, templates), 'native'),
      await betterAuthOn(await emptyDatabase(kind, templates), 'rust'),
    ]
    if (kind === 'sqlite') {
      peers.push(await oauthServerOn(await emptyDatabase(kind, templates), 'oidc-provider', { token: '/token', me: '/me' }))
      const paths = { token: '/api/auth/oauth2/token', me: '/api/auth/oauth2/userinfo' }
      const name = 'better-auth as OAuth provider'
      peers.push(await oauthServerOn(await emptyDatabase(kind, templates), 'better-auth-oauth', paths, name))
    }
    await compare(`register, ${kind}`, 'register', [ours, ...peers, ...native], { ...hashed, warmUp: 800 })
    await compare(`login, ${kind}`, 'login', [ours, ...peers, ...native], hashed)
    await compare(`refresh, ${kind}`, 'refresh', [ours, ...peers], { inFlight: 8, count: 1_600 })
    await compare(`me, ${kind}`, 'me', [ours, ...peers], { inFlight: 8, count: 2_400 })
    if (kind === 'sqlite') {
      await seedUsers(url, LISTED_USERS)
      const what = `list of users, 50 of ${LISTED_USERS.toLocaleString('en-US')}, ${kind}`
      await compare(what, 'list', [ours, ...peers], { inFlight: 4, count: 200 })
    }
    await children.stopAll()
    await loginWithoutHash(kind)
    await children.stopAll()
  }
} finally {
  await children.stopAll()
  await stop()
}

async function gatehouseOn(databaseUrl: string, env: Record<string, string> = {}): Promise<Subject> {
  const server = await startGatehouse(children, { ...settings, DATABASE_URL: databaseUrl, ...env })
  const api = `${server.url}/api/v1`
  const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
  const admin = { authorization: `Bearer ${signedIn.body.access_token}` }
  await call(`${api}/admin/apps`, { body: { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, headers: admin })
  const register = (email: string) => call(`${api}/auth/register`, { body: { email, password: PASSWORD, app_code: 'bench' } })
  const lanes = await Promise.all(laneMails().map(async (email) => ({ email, ...(await register(email)).body })))
  return {
    server,
    register: () => register(someMail()),
    login: (lane) => call(`${api}/auth/login`, { body: { email: lanes[lane].email, password: PASSWORD, app_code: 'bench' } }),
    async refresh(lane) {
      const { body } = await call(`${api}/auth/refresh`, { body: { refresh_token: lanes[lane].refresh_token } })
      Object.assign(lanes[lane], body)
    },
    me: (lane) => call(`${api}/auth/me`, { headers: { authorization: `Bearer ${lanes[lane].access_token}` } }),
    list: () => call(`${api}/admin/users?limit=50`, { headers: admin }),
  }
}

async function betterAuthOn(databaseUrl: string, bcrypt: 'bcryptjs' | 'native' | 'rust'): Promise<Subject> {
  const env = { DATABASE_URL: databaseUrl, BCRYPT: bcrypt, COST: String(COST) }
  const name = `better-auth, ${bcrypt === 'rust' ? '@node-rs/bcrypt' : bcrypt}`
  const server = await startPeer(children, 'better-auth', name, env)
  // better-auth renews a session when it is read. This server does so at every read.
  const renewing = await startPeer(children, 'better-auth', server.name, { ...env, UPDATE_AGE: '0' })
  const at = (base: ServerUnderTest, path: string, options: { body?: unknown; cookie?: string } = {}) =>
    call(`${base.url}/api/auth${path}`, {
      body: options.body,
      headers: { origin: base.url, ...(options.cookie ? { cookie: options.cookie } : {}) },
    })
  const register = (email: string) => at(server, '/sign-up/email', { body: { email, password: PASSWORD, name: 'A User' } })
  const lanes = await Promise.all(
    laneMails().map(async (email) => {
      const { headers } = await register(email)
      return { email, cookie: headers.getSetCookie().map((cookie) => cookie.split(';')[0])[0]! }
    }),
  )
  if (databaseUrl.startsWith('sqlite:')) seedBetterAuth(databaseUrl, lanes[0]!.email)
  return {
    server,
    register: () => register(someMail()),
    login: (lane) => at(server, '/sign-in/email', { body: { email: lanes[lane]!.email, password: PASSWORD } }),
    refresh: Object.assign((lane: number) => at(renewing, '/get-session', { cookie: lanes[lane]!.cookie }), { server: renewing }),
    me: (lane) => at(server, '/get-session', { cookie: lanes[lane]!.cookie }),
    list: () => at(server, '/admin/list-users?limit=50&sortBy=createdAt&sortDirection=desc', { cookie: lanes[0]!.cookie }),
  }
}

/** What an OAuth server answers to the bench. */
interface Grant {
  client_id: string
  client_secret: string
  /** Asked of better-auth, whose access token is a JWT only for a resource. */
  resource?: string
  access_token: string
  refresh_token: string
}

async function oauthServerOn(
  databaseUrl: string,
  file: string,
  paths: { token: string; me: string },
  name = file,
): Promise<Subject> {
  const server = await startPeer(children, file, name, { DATABASE_URL: databaseUrl })
  const refresh = async ({ refresh_token, access_token: _, ...client }: Grant): Promise<Grant> => {
    const body = new URLSearchParams({ grant_type: 'refresh_token', ...client, refresh_token })
    const { body: tokens } = await call(`${server.url}${paths.token}`, { body })
    return { ...client, access_token: tokens.access_token, refresh_token: tokens.refresh_token }
  }
  const seed = async (): Promise<Grant> => (await call(`${server.url}/seed`)).body
  const lanes = await Promise.all(laneMails().map(async () => refresh(await seed())))
  return {
    server,
    async refresh(lane) {
      lanes[lane] = await refresh(lanes[lane]!)
    },
    me: (lane) => call(`${server.url}${paths.me}`, { headers: { authorization: `Bearer ${lanes[lane]!.access_token}` } }),
  }
}

/**
 * Measures the products in turns, starting with a different one each round, so that other load on the machine affects all of
 * them. The first round, of `warmUp` calls, is not measured. The result is the median of the other rounds' ratios.
 */
async function compare(
  what: string,
  deed: Deed,
  subjects: Subject[],
  // A round of hashes is so short that V8 would still compile the server's code in all of them.
  { inFlight, count, warmUp = count }: { inFlight: number; count: number; warmUp?: number },
): Promise<void> {
  const figure: keyof Load = isHashed(deed) ? 'perSecond' : 'cpuMsPerCall'
  const able = subjects.filter((subject) => subject[deed] !== undefined)
  const figures = new Map<Subject, number[]>(able.map((subject) => [subject, []]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of [...able.slice(round % able.length), ...able.slice(0, round % able.length)]) {
      const act = subject[deed] as ((lane: number) => Promise<unknown>) & { server?: ServerUnderTest }
      const measured = await load(act.server ?? subject.server, { inFlight, count: round === 0 ? warmUp : count }, (lane) =>
        act(lane),
      )
      if (round > 0) figures.get(subject)!.push(measured[figure])
    }
  }
  const own = figures.get(able[0]!)!
  const [unit, better] = isHashed(deed) ? (['a second', 'higher'] as const) : (['ms CPU', 'lower'] as const)
  for (const peer of able.slice(1)) {
    const theirs = figures.get(peer)!
    const ratio = median(own.map((each, round) => each / theirs[round]!))
    const beside = isHashed(deed) ? peer.server.name : peer.server.name.split(',')[0]!
    record({ what, beside, ours: median(own), peer: median(theirs), ratio, unit, better, bound: bounds[deed]?.[beside] })
  }
}

/**
 * Measures what a login costs without its hash. A hash at cost 6 has four times the rounds of one at cost 4, so four times the
 * cheaper login minus the more expensive one is three times the rest. Also measures the memory after 10,000 logins.
 */
async function loginWithoutHash(kind: DatabaseKind): Promise<void> {
  const cpuOf = new Map<number, number>()
  for (const cost of [6, 4]) {
    const { url } = await createDatabase(kind, templates)
    const { server, login } = await gatehouseOn(url, { NODE_ENV: 'test', AUTH_BCRYPT_COST: String(cost) })
    // One at a time, so that hashes do not share a thread at either cost.
    await load(server, { inFlight: 1, count: 1_000 }, (lane) => login!(lane))
    cpuOf.set(cost, (await load(server, { inFlight: 1, count: 3_000 }, (lane) => login!(lane))).cpuMsPerCall)
    if (cost !== 4) continue
    await load(server, { inFlight: 8, count: 6_000 }, (lane) => login!(lane))
    record({ what: `memory after 10,000 logins, ${kind}`, ours: rssMb(server), unit: 'MB', better: 'lower', bound: 180 })
  }
  record({
    ...{ what: `login but for its hash, ${kind}`, ours: (4 * cpuOf.get(4)! - cpuOf.get(6)!) / 3, unit: 'ms CPU' },
    ...{ beside: `bcryptjs at cost ${COST}`, peer: hashCpuMs(), better: 'lower', bound: 0.04 },
  })
}

/** Processor milliseconds of one bcryptjs hash. */
function hashCpuMs(): number {
  const bcrypt = fromServer('bcryptjs')
  const [warmUp, times] = [3, 20]
  let started = process.cpuUsage()
  for (let index = -warmUp; index < times; index += 1) {
    if (index === 0) started = process.cpuUsage()
    bcrypt.hashSync(PASSWORD, COST)
  }
  const { user, system } = process.cpuUsage(started)
  return (user + system) / 1_000 / times
}

function someMail(): string {
  return `${randomUUID()}@example.com`
}

function laneMails(): string[] {
  return Array.from({ length: 16 }, someMail)
}

/** Inserts users as a registration would, limited to the columns that the list reads. */
async function seedUsers(databaseUrl: string, count: number): Promise<void> {
  const db = new (fromServer('better-sqlite3'))(databaseUrl.slice('sqlite:'.length))
  db.exec(`insert into users (id, email, namespace, status, token_version, min_token_version, created_at, updated_at)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
    select printf('01900000-0000-7000-8000-%012x', i), 'u' || i || '@example.com', 'default', 'active', 0, 0, i, i from n`)
  db.close()
}

/** Inserts the same number of users for the peer, and makes its first user an admin. */
function seedBetterAuth(databaseUrl: string, admin: string): void {
  const db = new (fromPeers('better-sqlite3'))(databaseUrl.slice('sqlite:'.length))
  db.exec(`insert into user (id, name, email, emailVerified, createdAt, updatedAt, role)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${LISTED_USERS})
    select 'u' || i, 'A User', 'u' || i || '@example.com', 0, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', 'user' from n`)
  db.prepare("update user set role = 'admin' where email = ?").run(admin)
  db.close()
}
