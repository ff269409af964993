// Measures what a request costs on Postgres with a thousand, a million and ten million users. Three databases on one Postgres,
// each with a server, take turns with one request at a time, about users who are drawn at random. Other load on the machine
// changes how long a request takes, but hardly its processor time, so a figure is the processor time of the server plus the time
// in which Postgres plans and executes (pg_stat_statements). Bcrypt runs at cost 4, so that the hash (1 ms) hides little of the
// rest. The largest database takes 23 GB of disk, and most of an hour to write. BENCH_SCALE_USERS=1000,1000000 leaves it out.
import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { loadConfig } from '../../packages/server/src/config.ts'
import { closeDeps, createDeps, withPatientConnection } from '../../packages/server/src/deps.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { Children } from '../../scripts/children.ts'
import { ownSecrets, testEnvironment } from '../support/client.ts'
import { canLogIn, emailOf } from '../support/many-users.ts'
import { record } from './support/results.ts'
import { connected, type Filled, filled, scaleSettings, startScalePostgres } from './support/scale-databases.ts'
import { ADMIN, call, median, PASSWORD, type ServerUnderTest, startGatehouse } from './support/server-under-test.ts'

const SIZES = (process.env.BENCH_SCALE_USERS ?? '1000,1000000,10000000').split(',').map(Number)
const ROUNDS = 5
const BOUND = 1.2
/** Of users who are drawn at random too. */
const SESSIONS = 200
/** As many users as one in ten of a million. */
const REVOKED = 100_000
const authctl = fileURLToPath(new URL('../../packages/cli/dist/authctl.js', import.meta.url))

/** How often a round makes each request. */
const calls = {
  ...{
    login: 100,
    refresh: 200,
    me: 400,
    'grant and revoke': 40,
    'list of users': 40,
    search: 40,
    pools: 40,
    collisions: 20,
  },
  ...{ explain: 40, stats: 20, 'page of audit verify': 5 },
}
type Deed = keyof typeof calls
const deeds = Object.keys(calls) as Deed[]

interface Subject extends Filled {
  server: ServerUnderTest
  act: Record<Deed, () => Promise<unknown>>
}

/** Milliseconds for each call, and blocks of 8 kB that Postgres looked at. */
interface Cost {
  server: number
  postgres: number
  blocks: number
}

const children = new Children()
const postgres = await startScalePostgres()
const observer = await connected(postgres.adminUrl)
try {
  const subjects: Subject[] = []
  for (const users of SIZES) subjects.push(await started(await filled(postgres.adminUrl, users)))
  for (const subject of subjects) await untilQuiet(subject)
  for (const deed of deeds) await compare(deed, subjects)
  await children.stopAll()
  await compareCleanups(subjects)
  const million = subjects.find(({ users }) => users === 1_000_000)
  if (million) await revokeMany(million)
} finally {
  await children.stopAll()
  await observer.end()
  await postgres.stop()
}

async function started(at: Filled): Promise<Subject> {
  const server = await startGatehouse(children, { ...scaleSettings, DATABASE_URL: at.url })
  await readAll(at.url)
  const api = `${server.url}/api/v1`
  const login = (email: string, app: string) =>
    call(`${api}/auth/login`, { body: { email, password: PASSWORD, app_code: app } }).then(({ body }) => body)
  const headers = { authorization: `Bearer ${(await login(ADMIN, 'authctl')).access_token}` }
  const get = (path: string) => call(`${api}/admin/${path}`, { headers })
  const post = (path: string, body: object) => call(`${api}/admin/${path}`, { headers, body })
  const some = (suits: (user: number) => boolean) => emailOf(someUser(at.users, suits))
  const sessions: { access_token: string; refresh_token: string }[] = []
  for (let made = 0; made < SESSIONS; made += 1) sessions.push(await login(some(canLogIn), 'bench'))
  const someSession = () => sessions[randomInt(SESSIONS)]!
  return {
    ...at,
    server,
    act: {
      login: () => login(some(canLogIn), 'bench'),
      async refresh() {
        const session = someSession()
        Object.assign(session, (await call(`${api}/auth/refresh`, { body: { refresh_token: session.refresh_token } })).body)
      },
      me: () => call(`${api}/auth/me`, { headers: { authorization: `Bearer ${someSession().access_token}` } }),
      // These users sign in nowhere else in this bench.
      async 'grant and revoke'() {
        const users = [some(isElsewhere)]
        await post('apps/bench/grants', { users })
        await post('apps/bench/grants/revoke', { users })
      },
      'list of users': () => get(`users?limit=50&status=${['active', 'suspended'][randomInt(2)]}`),
      search: () => get(`users?limit=50&q=${someUser(at.users, () => true)}`),
      pools: () => get('namespaces?limit=50'),
      collisions: () => get(`namespaces/default/collisions?with=pool-${randomInt(5) * 10 + 7}`),
      explain: () => get(`explain?email=${some(canLogIn)}&app=bench`),
      stats: () => get('stats'),
      'page of audit verify': () => get('audit/verify'),
    },
  }
}

/** Whose home is another pool than that of the app. */
function isElsewhere(user: number): boolean {
  return user % 10 === 7
}

function someUser(users: number, suits: (user: number) => boolean): number {
  for (;;) {
    const user = randomInt(1, users + 1)
    if (suits(user)) return user
  }
}

/** Reads tables and indexes into the buffers, as far as they have room, as in a database that has been in use. */
async function readAll(databaseUrl: string): Promise<void> {
  const client = await connected(databaseUrl)
  await client.query('create extension if not exists pg_prewarm')
  await client.query(
    `select pg_prewarm(oid, 'read') from pg_class where relkind in ('r', 'i') and relnamespace = 'public'::regnamespace`,
  )
  await client.end()
}

/** Waits until the server has nothing left to do, such as to seal the events that the database was filled with. */
async function untilQuiet({ users, server }: Subject): Promise<void> {
  for (let waited = 0; waited < 300; waited += 3) {
    const before = cpuOf(server)
    await sleep(3_000)
    if (cpuOf(server) - before < 60) return
  }
  console.log(`  the server with ${users.toLocaleString('en-US')} users is still busy`)
}

/** Records the medians of the rounds, and of their ratios to the smallest database. */
async function compare(deed: Deed, subjects: readonly Subject[]): Promise<void> {
  const costs = new Map<Subject, Cost[]>(subjects.map((subject) => [subject, []]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const subject of [...subjects.slice(round % subjects.length), ...subjects.slice(0, round % subjects.length)]) {
      const cost = await measure(subject, calls[deed], subject.act[deed])
      if (round > 0) costs.get(subject)!.push(cost)
    }
  }
  tell(deed, subjects, costs, BOUND)
}

function tell(deed: string, [base, ...others]: readonly Subject[], costs: ReadonlyMap<Subject, Cost[]>, bound?: number): void {
  const work = (subject: Subject) => costs.get(subject)!.map(({ server, postgres }) => server + postgres)
  const blocks = (subject: Subject) => median(costs.get(subject)!.map(({ blocks }) => blocks))
  const beside = `${base!.users.toLocaleString('en-US')} users`
  for (const subject of others) {
    const [ours, peers] = [work(subject), work(base!)]
    const ratio = median(ours.map((each, round) => each / peers[round]!))
    const what = `${deed} at ${subject.users.toLocaleString('en-US')} users`
    record({ what, beside, ours: median(ours), peer: median(peers), ratio, unit: 'ms', better: 'lower', ...(bound && { bound }) })
    const [own, theirs] = [blocks(subject), blocks(base!)]
    record({ what: `${what}, blocks`, beside, ours: own, peer: theirs, unit: 'blocks', better: 'lower' })
  }
}

async function measure({ name, server }: Subject, count: number, act: () => Promise<unknown>): Promise<Cost> {
  const before = await askPostgres(name)
  const cpu = cpuOf(server)
  for (let done = 0; done < count; done += 1) await act()
  const spent = cpuOf(server) - cpu
  const after = await askPostgres(name)
  return { server: spent / count, postgres: (after.ms - before.ms) / count, blocks: (after.blocks - before.blocks) / count }
}

/** Processor time of a process in milliseconds, finer than `/proc/PID/stat` has it. */
function cpuOf({ pid }: ServerUnderTest): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const spent = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
  return spent.reduce((sum, ns) => sum + ns, 0) / 1e6
}

async function askPostgres(database: string): Promise<{ ms: number; blocks: number }> {
  const { rows } = await observer.query(
    `select sum(total_plan_time + total_exec_time) as ms, sum(shared_blks_hit + shared_blks_read)::float as blocks
     from pg_stat_statements join pg_database on pg_database.oid = dbid where datname = $1`,
    [database],
  )
  return rows[0]
}

/** A cleanup with nothing to delete, as every ten minutes, and the one that counts the pools again, once a day. */
async function compareCleanups(subjects: readonly Subject[]): Promise<void> {
  for (const what of ['cleanup', 'cleanup of the day'] as const) {
    const costs = new Map<Subject, number>()
    for (const subject of subjects) {
      const { JWT_ACCESS_SECRET, AUTH_ENCRYPTION_KEY } = scaleSettings
      const environment = { ...testEnvironment, JWT_ACCESS_SECRET, AUTH_ENCRYPTION_KEY, DATABASE_URL: subject.url }
      const deps = createDeps(loadConfig(environment, ownSecrets))
      const patient = withPatientConnection(deps)
      await removeExpired(patient.deps)
      await deps.db('daily_tasks').update({ done_at: what === 'cleanup' ? Date.now() : 0 })
      const before = await askPostgres(subject.name)
      await removeExpired(patient.deps)
      costs.set(subject, (await askPostgres(subject.name)).ms - before.ms)
      await patient.close()
      await closeDeps(deps)
    }
    const [base, ...others] = subjects as [Subject, ...Subject[]]
    for (const subject of others) {
      const beside = `${base.users.toLocaleString('en-US')} users`
      const named = `${what} at ${subject.users.toLocaleString('en-US')} users`
      record({ what: named, beside, ours: costs.get(subject)!, peer: costs.get(base)!, unit: 'ms of Postgres', better: 'lower' })
    }
  }
}

/** The whole command `authctl grant revoke --from-file`. */
async function revokeMany({ users, name, url: databaseUrl }: Filled): Promise<void> {
  const server = await startGatehouse(children, { ...scaleSettings, DATABASE_URL: databaseUrl })
  const login = { email: ADMIN, password: PASSWORD, app_code: 'authctl' }
  const { body } = await call(`${server.url}/api/v1/auth/login`, { body: login })
  const env = { AUTHCTL_BASE_URL: server.url, AUTHCTL_TOKEN: body.access_token }
  const lines = Array.from({ length: REVOKED }, (_, index) => emailOf(index * 10 + 7)).join('\n')
  const [before, cpu, started] = [await askPostgres(name), cpuOf(server), performance.now()]
  const command = [authctl, 'grant', 'revoke', '--app', 'bench', '--from-file', '-', '--yes', '--json']
  const { code, stdout, stderr } = await children.run('node', command, { env, stdin: lines })
  if (code !== 0) throw new Error(`grant revoke ended with ${code}: ${stderr}`)
  const seconds = (performance.now() - started) / 1_000
  const { revoked, unchanged = 0 } = JSON.parse(stdout).counts
  if (revoked + unchanged !== REVOKED || unchanged > REVOKED / 100) throw new Error(`revoked ${revoked}, unchanged ${unchanged}`)
  const what = `grant revoke of ${REVOKED.toLocaleString('en-US')} users at ${users.toLocaleString('en-US')} users`
  record({ what: `${what}, elapsed`, ours: seconds, unit: 's', better: 'lower' })
  record({ what: `${what}, server`, ours: (cpuOf(server) - cpu) / 1_000, unit: 's CPU', better: 'lower' })
  record({ what: `${what}, Postgres`, ours: ((await askPostgres(name)).ms - before.ms) / 1_000, unit: 's', better: 'lower' })
}
