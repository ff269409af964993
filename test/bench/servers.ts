// Measures one, two and four server processes on one Postgres, called in turns without sticky sessions: a session
// that one server opened is refreshed at the next. Each number of servers has a database of its own, since a server that
// only listens would still read each revocation of the others. Bcrypt runs at cost 4, so that logins are not only hashing.
// Servers, Postgres and this generator share the cores of the machine, which limits what more servers can gain, so
// the processor time of each is printed as well.
import { randomUUID } from 'node:crypto'
import { Agent, request } from 'node:http'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { Children } from '../../scripts/children.ts'
import { createDatabase, prepareTemplates } from '../support/database.ts'
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

const COUNTS = [1, 2, 4]
const ROUNDS = 5
const IN_FLIGHT = 32
/** Calls in flight at each server while commits are slow. So few leave the processors idle, and what counts is who waits for whom. */
const SLOW_IN_FLIGHT = 2
const AMOUNT = { login: 600, refresh: 1_200, me: 3_000, logout: 800, 'logout, slow commits': 800 }
/** The first bound is calls a second, the other the ratio to one server. */
const BOUNDS: Record<string, number> = { 'logout, 1 server': 1_000, 'logout, slow commits, 2 servers': 1.8 }

const fromServer = createRequire(new URL('../../packages/server/package.json', import.meta.url))
const settings = {
  ...usualSettings,
  NODE_ENV: 'test',
  AUTH_BCRYPT_COST: '4',
}
type Deed = keyof typeof AMOUNT

interface Lane {
  email: string
  access_token: string
  refresh_token: string
}

/** A connection of the bench itself. */
interface Observer {
  connect(): Promise<void>
  query(sql: string): Promise<{ rows: { pid: number }[] }>
  end(): Promise<void>
}

/** Servers that share one database, in which nobody else works. */
interface Site {
  servers: ServerUnderTest[]
  lanes: Lane[]
  observer: Observer
}

interface Round {
  perSecond: number
  /** These three are processor milliseconds per call. */
  servers: number
  postgres: number
  generator: number
}

const children = new Children()
const { templates, stop } = await prepareTemplates(['postgres'])
const sites = new Map<number, Site>()
try {
  for (const count of COUNTS) sites.set(count, await startSite(count))
  console.log(
    `  ${availableParallelism()} processors, ${IN_FLIGHT} requests in flight, ${SLOW_IN_FLIGHT} at each server while commits are slow`,
  )
  for (const deed of Object.keys(AMOUNT) as Deed[]) {
    if (deed === 'logout, slow commits') await Promise.all([...sites.values()].map(slowCommits))
    await compare(deed)
  }
} finally {
  await children.stopAll()
  await Promise.all([...sites.values()].map(({ observer }) => observer.end()))
  await stop()
}

async function startSite(count: number): Promise<Site> {
  const { url } = await createDatabase('postgres', templates)
  const observer: Observer = new (fromServer('pg').Client)({ connectionString: url })
  await observer.connect()
  const servers: ServerUnderTest[] = []
  while (servers.length < count) servers.push(await startGatehouse(children, { ...settings, DATABASE_URL: url }))
  return { servers, observer, lanes: await openLanes(servers[0]!) }
}

async function openLanes({ url }: ServerUnderTest): Promise<Lane[]> {
  const api = `${url}/api/v1`
  const signedIn = await call(`${api}/auth/login`, { body: { email: ADMIN, password: PASSWORD, app_code: 'authctl' } })
  const headers = { authorization: `Bearer ${signedIn.body.access_token}` }
  await call(`${api}/admin/apps`, { body: { code: 'bench', name: 'Bench', auto_grant_on_signup: true }, headers })
  return Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      const email = `${randomUUID()}@example.com`
      const { body } = await call(`${api}/auth/register`, { body: { email, password: PASSWORD, app_code: 'bench' } })
      return { ...body, email }
    }),
  )
}

/** Measures the numbers of servers in turns. Records the median of the rounds, and of their ratios to one server. */
async function compare(deed: Deed): Promise<void> {
  const rounds = new Map<number, Round[]>(COUNTS.map((count) => [count, []]))
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const count of [...COUNTS.slice(round % COUNTS.length), ...COUNTS.slice(0, round % COUNTS.length)]) {
      const measured = await measure(deed, sites.get(count)!)
      if (round > 0) rounds.get(count)!.push(measured)
    }
  }
  const one = rounds.get(1)!
  for (const [count, measured] of rounds) {
    const of = (figure: keyof Round) => median(measured.map((round) => round[figure]))
    const what = `${deed}, ${count} ${count === 1 ? 'server' : 'servers'}`
    const rate = { what, ours: of('perSecond'), unit: 'a second', better: 'higher', bound: BOUNDS[what] } as const
    if (count === 1) record(rate)
    else {
      const ratio = median(measured.map(({ perSecond }, round) => perSecond / one[round]!.perSecond))
      record({ ...rate, beside: 'one server', peer: median(one.map(({ perSecond }) => perSecond)), ratio })
    }
    const [own, database, asking] = (['servers', 'postgres', 'generator'] as const).map((figure) => of(figure).toFixed(2))
    console.log(`    CPU of each: servers ${own} ms, Postgres ${database} ms, generator ${asking} ms`)
  }
}

async function measure(deed: Deed, { servers, lanes: allLanes, observer }: Site): Promise<Round> {
  const count = AMOUNT[deed]
  const lanes = deed === 'logout, slow commits' ? allLanes.slice(0, SLOW_IN_FLIGHT * servers.length) : allLanes
  const cpu = async () => ({
    servers: servers.reduce((sum, server) => sum + cpuMs(server), 0),
    generator: process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000,
    backends: await cpuOfBackends(observer),
  })
  const isLogout = deed !== 'login' && deed !== 'refresh' && deed !== 'me'
  const sessions = isLogout ? await openSessions(servers[0]!, allLanes, count) : []
  // A new agent for each round: a connection left idle since the last round might be closed by its server at just that moment.
  const agent = new Agent({ keepAlive: true })
  const before = await cpu()
  const started = performance.now()
  let next = 0
  await Promise.all(
    lanes.map(async (lane) => {
      while (next < count) await act(agent, deed, servers[next++ % servers.length]!, lane, sessions)
    }),
  )
  const seconds = (performance.now() - started) / 1_000
  const after = await cpu()
  agent.destroy()
  // Backends that are gone did no work. New ones started in this round.
  const postgres = [...after.backends].reduce((sum, [pid, ms]) => sum + ms - (before.backends.get(pid) ?? 0), 0)
  return {
    perSecond: count / seconds,
    servers: (after.servers - before.servers) / count,
    postgres: postgres / count,
    generator: (after.generator - before.generator) / count,
  }
}

async function act(agent: Agent, deed: Deed, { url }: ServerUnderTest, lane: Lane, sessions: string[]): Promise<void> {
  const api = `${url}/api/v1/auth`
  if (deed === 'me') await ask(agent, 'GET', `${api}/me`, undefined, lane.access_token)
  else if (deed === 'login')
    await ask(agent, 'POST', `${api}/login`, { email: lane.email, password: PASSWORD, app_code: 'bench' })
  else if (deed !== 'refresh') await ask(agent, 'POST', `${api}/logout`, { refresh_token: sessions.pop() })
  else Object.assign(lane, await ask(agent, 'POST', `${api}/refresh`, { refresh_token: lane.refresh_token }))
}

/** Signs in as often as sessions are to be ended. Returns their refresh tokens. */
async function openSessions({ url }: ServerUnderTest, lanes: Lane[], count: number): Promise<string[]> {
  const agent = new Agent({ keepAlive: true })
  const tokens: string[] = []
  let next = 0
  await Promise.all(
    lanes.map(async ({ email }) => {
      while (next++ < count) {
        const body = { email, password: PASSWORD, app_code: 'bench' }
        tokens.push(((await ask(agent, 'POST', `${url}/api/v1/auth/login`, body)) as Lane).refresh_token)
      }
    }),
  )
  agent.destroy()
  return tokens
}

/** From now on each revocation takes 5 ms at its commit, as on a disk that is slow or far away. */
async function slowCommits({ observer }: Site): Promise<void> {
  await observer.query(`create function slow_commit() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.005); return null; end $$`)
  await observer.query(`create constraint trigger slow_commit after insert on revocations
    deferrable initially deferred for each row execute function slow_commit()`)
}

/** Uses less processor time than `fetch`, which would take up a whole core. */
function ask(agent: Agent, method: string, url: string, body?: object, token?: string): Promise<object> {
  const sent = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(sent === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
  }
  return new Promise((resolve, reject) => {
    const asked = request(url, { agent, method, headers }, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk) => chunks.push(chunk))
      reply.on('error', reject)
      reply.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        if (reply.statusCode === 204) resolve({})
        else if (reply.statusCode === 200) resolve(JSON.parse(text))
        else reject(new Error(`${url} answered ${reply.statusCode} ${text.slice(0, 300)}`))
      })
    })
    asked.on('error', reject)
    asked.end(sent)
  })
}

/** Processor milliseconds of the Postgres processes that serve connections to this database. */
async function cpuOfBackends(observer: Observer): Promise<Map<number, number>> {
  const { rows } = await observer.query('select pid from pg_stat_activity where datname = current_database()')
  return new Map(rows.map(({ pid }) => [pid, cpuMs({ pid })]))
}
