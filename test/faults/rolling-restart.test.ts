// Servers behind a balancer are restarted in turn under load, and no request fails.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { migrations } from '../../packages/server/src/db/migrate.ts'
import { version } from '../../packages/server/src/lib/version.ts'
import { type Balancer, startBalancer } from '../support/balancer.ts'
import { ADMIN_EMAIL, callHttp, claimsOf, PASSWORD } from '../support/client.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { measured, quantile, sized } from '../support/fault.ts'
import { packNextServer } from '../support/next-server.ts'
import { releasedServer } from '../support/released-server.ts'
import { startDocumentedProxy } from '../support/reverse-proxies.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const usualRounds = sized(1, 15)
const clients = 10
/** In the short form, each user pauses before a request, to leave the machine to the tests beside this one. */
const pauseMs = sized(100, 0)

const bootstrap = { AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL, AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }

/** Runs users who sign in, call "who am I" and refresh through `url`, each with one request at a time, until `stop`. */
function startUsers(url: string, app: string) {
  const failed: string[] = []
  const times: number[] = []
  let isOver = false
  const call = async (method: string, path: string, expected: number, options: { body?: unknown; token?: string } = {}) => {
    if (pauseMs > 0) await sleep(pauseMs)
    const started = performance.now()
    const reply = await callHttp(`${url}/api/v1${path}`, method, options).catch((error) => ({ status: 0, body: String(error) }))
    times.push(performance.now() - started)
    if (reply.status !== expected) failed.push(`${method} ${path}: ${reply.status} ${JSON.stringify(reply.body)}`)
    return reply.body
  }
  const user = async () => {
    const credentials = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app }
    await call('POST', '/auth/register', 201, { body: credentials })
    while (!isOver && failed.length === 0) {
      const { access_token: token, refresh_token } = await call('POST', '/auth/login', 200, { body: credentials })
      for (let look = 0; look < 3; look += 1) await call('GET', '/auth/me', 200, { token })
      await call('POST', '/auth/refresh', 200, { body: { refresh_token } })
    }
  }
  const running = Promise.all(Array.from({ length: clients }, user))
  return {
    failed,
    times,
    async stop() {
      isOver = true
      await running
    },
  }
}

/** A proxy of the docs. It gives a server back its turn within three seconds. */
async function startBehind(kind: 'HAProxy' | 'nginx', servers: readonly string[]): Promise<Balancer> {
  const { port, stop } = await startDocumentedProxy(kind, servers)
  onTestFinished(stop)
  return { url: `http://127.0.0.1:${port}`, faults: [], repeated: [], isOut: () => false }
}

interface Way {
  asksReady: boolean
  /** The proxy of the docs that stands in front, instead of our balancer. */
  proxy?: 'HAProxy' | 'nginx'
  rounds?: number
  /** Starts the first servers, which are later replaced by current ones. By default these are current servers too. */
  startFirst?: (settings: Record<string, string>) => Promise<ServerProcess>
  /** Starts what replaces a server in a round, which is counted from 0. By default a current server. */
  startNext?: (settings: Record<string, string>, round: number) => Promise<ServerProcess>
  /** Prepares the database before the first servers start. */
  prepare?: (databaseUrl: string) => Promise<void>
}

/** Restarts two servers in turn behind a balancer while users send requests. */
async function restartInTurn(
  settings: Record<string, string>,
  {
    asksReady,
    proxy,
    rounds = usualRounds,
    startFirst = startServer,
    startNext = (settings) => startServer(settings),
    prepare = async () => {},
  }: Way,
) {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  const common = { DATABASE_URL: database.url, ...bootstrap, ...settings }
  await prepare(database.url)
  const servers = [await startFirst(common), await startFirst(common)]
  const all = [...servers]
  const token = (await servers[0]!.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await servers[0]!.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })

  const urls = servers.map(({ url }) => url)
  const balancer = proxy ? await startBehind(proxy, urls) : await startBalancer(urls, { asksReady })
  const users = startUsers(balancer.url, 'shop')
  for (let round = 0; round < rounds; round += 1) {
    for (const index of servers.keys()) {
      const before = users.times.length
      await expect.poll(() => users.failed.length > 0 || users.times.length > before + 50).toBe(true)
      const server = servers[index]!
      expect(await server.stop()).toEqual({ code: 0, signal: null })
      const next = await startNext({ ...common, PORT: new URL(server.url).port }, round)
      servers[index] = next
      all.push(next)
      if (asksReady) await expect.poll(() => balancer.isOut(next.url)).toBe(false)
      if (proxy) await sleep(3_000)
    }
  }
  await users.stop()
  for (const server of servers) expect((await server.stop()).code).toBe(0)
  expect(balancer.faults).toEqual([])
  expect(users.failed).toEqual([])
  // No server had started on a request that was repeated, so no request id is logged twice.
  const taken = all.flatMap((server) => server.lines()).filter((line) => line.includes('"msg":"request"'))
  const ids = taken
    .map((line) => JSON.parse(line))
    .filter(({ path }) => !path.endsWith('/ready'))
    .map(({ request_id }) => request_id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
  const slowest = Math.round(quantile(users.times, 1))
  return {
    repeated: balancer.repeated,
    figure: `${rounds * 2} restarts, ${users.times.length} requests, 0 failed, slowest ${slowest} ms`,
  }
}

const delaySeconds = 3

test('two servers that restart in turn under load fail no request, and a balancer that asks /ready repeats none', {
  timeout: 900_000,
}, async (context) => {
  const settings = { AUTH_SHUTDOWN_DELAY_SECONDS: String(delaySeconds) }
  const { repeated, figure } = await restartInTurn(settings, { asksReady: true })
  expect(repeated).toEqual([])
  measured(context, figure)
})

test('a balancer that does not ask may repeat refused and reset connections without a delay, and nothing is done twice', {
  timeout: 900_000,
}, async (context) => {
  const { repeated, figure } = await restartInTurn({}, { asksReady: false })
  const reset = repeated.filter((told) => !told.includes('ECONNREFUSED')).length
  measured(context, `${figure}; ${repeated.length} connections refused or reset, ${reset} of them reset`)
})

test.for([
  { proxy: 'HAProxy', delay: delaySeconds },
  { proxy: 'nginx', delay: 0 },
] as const)(
  'two servers that restart in turn under load, behind $proxy with the settings of the docs, fail no request',
  {
    timeout: 900_000,
  },
  async ({ proxy, delay }, context) => {
    const settings = { AUTH_SHUTDOWN_DELAY_SECONDS: String(delay), AUTH_TRUST_PROXY: '1' }
    const { figure } = await restartInTurn(settings, { asksReady: false, proxy })
    measured(context, figure)
  },
)

test('two servers of this version replace two of the first release and migrate under them, and no request fails', {
  timeout: 900_000,
}, async (context) => {
  let applied: string[] = []
  let url = ''
  const startFirst = (settings: Record<string, string>) => startServer(settings, onTestFinished, [], releasedServer())
  const prepare = async (databaseUrl: string) => {
    url = databaseUrl
    await withDatabase(url, async (db) => {
      await db.raw('drop schema public cascade')
      await db.raw('create schema public')
    })
  }
  const settings = { AUTH_SHUTDOWN_DELAY_SECONDS: String(delaySeconds) }
  const { repeated, figure } = await restartInTurn(settings, { asksReady: true, rounds: 1, startFirst, prepare })
  expect(repeated).toEqual([])
  await withDatabase(url, async (db) => {
    applied = await db('schema_migrations').orderBy('name').pluck('name')
  })
  expect(applied).toEqual(Object.keys(migrations.steps))
  measured(context, `${figure}, from 0001 to ${applied.at(-1)}`)
})

test('servers of the next version and of this one replace each other in turn, and no request fails', {
  timeout: 900_000,
}, async (context) => {
  const { program, remove } = packNextServer()
  onTestFinished(remove)
  let url = ''
  const prepare = async (databaseUrl: string) => {
    url = databaseUrl
  }
  const columns: boolean[] = []
  const startNext = async (settings: Record<string, string>, round: number) => {
    const server = await startServer(settings, onTestFinished, [], round % 2 === 0 ? program : undefined)
    expect((await server.call('GET', '/health')).body.version).toBe(round % 2 === 0 ? '99.0.0' : version)
    await withDatabase(url, async (db) => void columns.push(await db.schema.hasColumn('users', 'nickname')))
    return server
  }
  const settings = { AUTH_SHUTDOWN_DELAY_SECONDS: String(delaySeconds) }
  const { repeated, figure } = await restartInTurn(settings, { asksReady: true, rounds: 3, startNext, prepare })
  expect(repeated).toEqual([])
  expect(columns).toEqual(Array(6).fill(true))
  measured(context, figure)
})

test('a server of the first release and two of this version hear every revocation of each other, in any order', {
  timeout: 300_000,
}, async () => {
  const database = await createDatabase('postgres')
  onTestFinished(() => database.drop())
  await withDatabase(database.url, async (db) => {
    await db.raw('drop schema public cascade')
    await db.raw('create schema public')
  })
  const settings = { DATABASE_URL: database.url, AUTH_RATE_LIMIT_IP: 'off', AUTH_RATE_LIMIT_ACCOUNT: 'off', ...bootstrap }
  const old = await startServer(settings, onTestFinished, [], releasedServer())
  const token = (await old.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await old.call('POST', '/admin/apps', { token, body: { code: 'shop', name: 'Shop', auto_grant_on_signup: true } })
  const credentials = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
  await old.call('POST', '/auth/register', { body: credentials })
  const logOut = async (server: ServerProcess) => {
    const { refresh_token, access_token } = (await server.call('POST', '/auth/login', { body: credentials })).body
    expect((await server.call('POST', '/auth/logout', { body: { refresh_token } })).status).toBe(204)
    return claimsOf(access_token).sid as string
  }
  // This one is from before the migration.
  const ended = [await logOut(old)]
  const recent = await startServer(settings)
  const another = await startServer(settings)
  const open = (server: ServerProcess) =>
    openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf({ code: 'shop' }))
  const streams = [await open(old), await open(recent), await open(another)]
  const rounds = await Promise.all(
    Array.from({ length: 16 }, async (_, index) => {
      const sids: string[] = []
      for (let round = 0; round < 12; round += 1) sids.push(await logOut([old, recent, recent, another][index % 4]!))
      return sids
    }),
  )
  ended.push(...rounds.flat())
  // A transaction that took its number early and commits late.
  await withDatabase(database.url, async (db) => {
    const late = { session_id: randomUUID(), user_id: randomUUID(), at: Date.now() }
    const { id: app_id } = await db('apps').where({ code: 'shop' }).first()
    await db.transaction(async (trx) => {
      await trx('revocations').insert({ ...late, app_id, cursor: trx.raw("-nextval('revocations_cursor_seq')") })
      for (const server of [recent, old]) ended.push(await logOut(server))
    })
    ended.push(late.session_id)
  })
  const missed = () =>
    streams.map(({ events }) => {
      const heard = new Set(events.map(({ data }) => data.session_id))
      return ended.filter((sid) => !heard.has(sid)).length
    })
  await expect.poll(missed, { timeout: 30_000, interval: 100 }).toEqual([0, 0, 0])
  // So does a backend that comes later, and one that changes from one server to the other.
  for (const server of [old, recent]) {
    const { cursor } = (await callHttp(`${server.url}/api/v1/revocations`, 'GET', { token: assertionOf({ code: 'shop' }) })).body
    for (const other of [old, recent]) {
      const page = `${other.url}/api/v1/revocations?since=${cursor}`
      const { status, body } = await callHttp(page, 'GET', { token: assertionOf({ code: 'shop' }) })
      expect([status, body.reset]).toEqual([200, other !== server])
      if (other !== server) expect(body.items.length).toBeGreaterThanOrEqual(ended.length)
    }
  }
})

async function withDatabase(databaseUrl: string, run: (db: ReturnType<typeof createKnex>) => Promise<void>): Promise<void> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    await run(db)
  } finally {
    await db.destroy()
  }
}
