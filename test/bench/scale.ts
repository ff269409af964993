// Measures login and refresh on Postgres with a thousand, a hundred thousand and a million users, who have everything that
// real users have. Three databases on one Postgres, each with a server, take turns with one request at a time. The users
// are drawn at random from all users. Bcrypt runs at cost 4, so that the hash (1 ms) hides little of the rest. Postgres's
// own time, without hash and HTTP, is the planning and execution time in pg_stat_statements, including commits. The
// buffers are large enough for the largest database.
import { randomInt } from 'node:crypto'
import { createRequire } from 'node:module'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates, type Templates } from '../support/database.ts'
import { canLogIn, emailOf, insertManyUsers, type ManyUsers, refreshTokenOf } from '../support/many-users.ts'
import { startPostgres } from '../support/postgres.ts'
import { record } from './support/results.ts'
import {
  ADMIN,
  call,
  cpuMs,
  median,
  PASSWORD,
  type ServerUnderTest,
  startGatehouse,
  usualSettings,
} from './support/server-under-test.ts'

const SIZES = [1_000, 100_000, 1_000_000]
const ROUNDS = 15
const CALLS = 200
const COST = 4
const BOUND = 1.1

const fromServer = createRequire(new URL('../../packages/server/package.json', import.meta.url))
const settings = {
  ...usualSettings,
  NODE_ENV: 'test',
  LOG_LEVEL: 'info',
  AUTH_BCRYPT_COST: String(COST),
}

interface Subject {
  users: number
  database: string
  server: ServerUnderTest
  login(user: number): Promise<unknown>
  refresh(user: number): Promise<unknown>
}
const deeds = ['login', 'refresh'] as const

/** Milliseconds per call. */
interface Cost {
  wall: number
  postgres: number
  serverCpu: number
  statements: number
}

const children = new Children()
const postgres = await startPostgres()
const admin = await connected(postgres.adminUrl)
await admin.query("alter system set shared_preload_libraries = 'pg_stat_statements'")
await admin.query("alter system set pg_stat_statements.track_planning = 'on'")
await admin.query("alter system set shared_buffers = '4GB'")
await admin.end()
// Waiting for Postgres does not keep a script alive, so a timer does.
const awake = setInterval(() => {}, 1_000)
await postgres.halt('fast')
await postgres.resume()
clearInterval(awake)
// From here on `createDatabase` treats it as a server that it did not start.
process.env.TEST_DATABASE_URL = postgres.adminUrl
const { templates, stop } = await prepareTemplates(['postgres'])
const observer = await connected(postgres.adminUrl)
try {
  await observer.query('create extension pg_stat_statements')
  const subjects: Subject[] = []
  for (const users of SIZES) subjects.push(await populate(users, templates))
  for (const deed of deeds) await compare(deed, subjects)
} finally {
  await children.stopAll()
  await observer.end()
  await stop()
  await postgres.stop()
}

async function connected(connectionString: string) {
  const client = new (fromServer('pg').Client)({ connectionString })
  await client.connect()
  return client
}

async function populate(users: number, templates: Templates): Promise<Subject> {
  const started = performance.now()
  const { url } = await createDatabase('postgres', templates)
  await insertManyUsers(url, { users, ...(await prepareCatalog(url)) })
  const seconds = Math.round((performance.now() - started) / 1_000)
  await readAll(url)
  const server = await startGatehouse(children, { ...settings, DATABASE_URL: url })
  const api = `${server.url}/api/v1`
  const database = new URL(url).pathname.slice(1)
  const { rows } = await observer.query('select pg_database_size($1) as bytes', [database])
  console.log(`  ${users.toLocaleString('en-US')} users: ${Math.round(rows[0].bytes / 2 ** 20)} MB, written in ${seconds} s`)
  const tokens = new Map<number, string>()
  return {
    users,
    database,
    server,
    login: (user) => call(`${api}/auth/login`, { body: { email: emailOf(user), password: PASSWORD, app_code: 'bench' } }),
    async refresh(user) {
      const { body } = await call(`${api}/auth/refresh`, { body: { refresh_token: tokens.get(user) ?? refreshTokenOf(user) } })
      tokens.set(user, body.refresh_token)
    },
  }
}

/** Reads all tables and indexes into the buffers, as they would be in a database that has been in use. */
async function readAll(databaseUrl: string): Promise<void> {
  const client = await connected(databaseUrl)
  await client.query('create extension pg_prewarm')
  await client.query(`select pg_prewarm(oid) from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`)
  await client.end()
}

/**
 * Creates the records that users refer to. The server that does it is stopped before the users are inserted, because its workers
 * would then find tables without indexes.
 */
async function prepareCatalog(databaseUrl: string): Promise<Omit<ManyUsers, 'users'>> {
  const alone = new Children()
  try {
    const { url } = await startGatehouse(alone, { ...settings, DATABASE_URL: databaseUrl })
    const api = `${url}/api/v1`
    const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
    const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
    const create = async (path: string, body: object) => (await call(`${api}/admin/${path}`, { body, headers })).body
    const app = await create('apps', { code: 'bench', name: 'Bench', auto_grant_on_signup: true })
    const other = await create('apps', { code: 'other', name: 'Other' })
    const role = await create('roles', { code: 'some', name: 'Some', scope: 'global' })
    const idp = { code: 'idp', issuer: 'https://idp.example.com', client_id: 'some', client_secret: 'some' }
    const provider = await create('sso-providers', idp)
    const passwordHash = fromServer('bcryptjs').hashSync(PASSWORD, COST)
    return { appIds: [app.id, other.id], roleCode: role.code, providerId: provider.id, passwordHash }
  } finally {
    await alone.stopAll()
  }
}

/** Records the median of the rounds, and of their ratios to the smallest database. */
async function compare(deed: (typeof deeds)[number], subjects: Subject[]): Promise<void> {
  const costs = new Map<Subject, Cost[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of [...subjects.slice(round % subjects.length), ...subjects.slice(0, round % subjects.length)]) {
      const cost = await measure(subject, (user) => subject[deed](user))
      if (round > 0) costs.get(subject)!.push(cost)
    }
  }
  const [base, ...others] = subjects as [Subject, ...Subject[]]
  const figures = { wall: 'ms', postgres: 'ms in Postgres', serverCpu: 'ms CPU of the server' } as const
  for (const subject of others) {
    const [ours, peers] = [costs.get(subject)!, costs.get(base)!]
    for (const [figure, unit] of Object.entries(figures) as [keyof typeof figures, string][]) {
      const own = ours.map((cost) => cost[figure])
      const theirs = peers.map((cost) => cost[figure])
      const ratio = median(own.map((each, round) => each / theirs[round]!))
      const what = `${deed} at ${subject.users.toLocaleString('en-US')} users, ${unit}`
      const beside = `${base.users.toLocaleString('en-US')} users`
      // The bound is on the time that a caller waits. Postgres's own share of it, a tenth, is only recorded for comparison.
      const bound = figure === 'postgres' ? undefined : BOUND
      record({ what, beside, ours: median(own), peer: median(theirs), ratio, unit: 'ms', better: 'lower', bound })
    }
  }
  console.log(`  statements of a ${deed}: ${median(costs.get(base)!.map(({ statements }) => statements)).toFixed(1)}`)
}

async function measure({ users, database, server }: Subject, act: (user: number) => Promise<unknown>): Promise<Cost> {
  const comers = Array.from({ length: CALLS }, () => someUser(users))
  const before = await askPostgres(database)
  const cpu = cpuMs(server)
  const started = performance.now()
  for (const user of comers) await act(user)
  const wall = performance.now() - started
  const after = await askPostgres(database)
  return {
    wall: wall / CALLS,
    postgres: (after.ms - before.ms) / CALLS,
    serverCpu: (cpuMs(server) - cpu) / CALLS,
    statements: (after.calls - before.calls) / CALLS,
  }
}

function someUser(users: number): number {
  for (;;) {
    const user = randomInt(1, users + 1)
    if (canLogIn(user)) return user
  }
}

async function askPostgres(database: string): Promise<{ ms: number; calls: number }> {
  const { rows } = await observer.query(
    `select sum(total_plan_time + total_exec_time) as ms, sum(calls)::float as calls
     from pg_stat_statements join pg_database on pg_database.oid = dbid where datname = $1`,
    [database],
  )
  return rows[0]
}
