// The feed with several servers: events pass from one to the other, connections break, servers shut down.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { atOnce } from '../support/chance.ts'
import { assertionOf, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { startPatientClock } from '../support/patient-clock.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { type ServerInstance, startInstance } from '../support/server-instance.ts'
import { startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, type Json, PASSWORD, testDatabase } from '../support/service.ts'

const onPostgres = testDatabase() === 'postgres'
const bootstrap = { AUTH_BOOTSTRAP_ADMIN_EMAIL: ADMIN_EMAIL, AUTH_BOOTSTRAP_ADMIN_PASSWORD: PASSWORD }
const app = { code: 'shop' }

async function someDatabase(): Promise<string> {
  const database = await createDatabase(testDatabase(), inject('templates'))
  onTestFinished(() => database.drop())
  return database.url
}

/** A server with the app `shop`, which grants access at sign-up. */
async function startShop(settings: Record<string, string>): Promise<ServerInstance> {
  return openShop(await startInstance({ ...bootstrap, ...settings }))
}

async function openShop<S extends ServerInstance>(server: S): Promise<S> {
  const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
  await server.call('POST', '/admin/apps', { token, body: { ...app, name: 'Shop', auto_grant_on_signup: true } })
  return server
}

async function newUser(server: ServerInstance): Promise<Json> {
  const body = { email: `user-${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code }
  return (await server.call('POST', '/auth/register', { body })).body
}

/** A server whose intervals never fire: it learns about revocations on another server only by being notified. */
async function startWithoutIntervals(settings: Record<string, string>): Promise<ServerInstance> {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  try {
    return await startInstance(settings)
  } finally {
    vi.useRealTimers()
  }
}

const logout = (server: ServerInstance, user: Json) =>
  server.call('POST', '/auth/logout', { body: { refresh_token: user.refresh_token } })
const openStream = (server: ServerInstance, lastEventId?: number) =>
  openEventStream(`${server.url}/api/v1/revocations/stream`, assertionOf(app), lastEventId === undefined ? {} : { lastEventId })
const saying = (server: ServerInstance, text: string) => server.lines().filter((line) => line.includes(text))
const hearing = '"msg":"receiving revocations'
const silent = '"msg":"LISTEN delivers nothing'

async function waitFor(what: () => boolean, timeoutMs = 60_000): Promise<void> {
  await expect.poll(what, { timeout: timeoutMs, interval: 20 }).toBe(true)
}

describe('the end of a server with streams', () => {
  test('a server ends its streams at once in good order, and exits with 0', async () => {
    const server = await openShop(await startServer({ ...bootstrap, DATABASE_URL: await someDatabase() }))
    const streams = await atOnce(20, () => openStream(server))
    const paused = streams[0]!
    paused.pause()
    const clock = startPatientClock()
    const ended = server.stop()
    expect(await Promise.all(streams.slice(1).map((stream) => stream.ended))).toEqual(Array(19).fill('end'))
    // Waiting for requests in flight would take up to 25 seconds.
    expect(clock()).toBeLessThan(10_000)
    expect(await ended).toEqual({ code: 0, signal: null })
    expect(clock()).toBeLessThan(20_000)
  })

  test('a server that ends answers streams with 503, and logs no error', async () => {
    const server = await startShop({ DATABASE_URL: await someDatabase(), AUTH_SHUTDOWN_DELAY_SECONDS: '1' })
    const stopping = server.stop()
    expect((await openStream(server)).status).toBe(503)
    await stopping
    expect(saying(server, '"code":"unavailable"')).toEqual([expect.stringContaining('"msg":"request"')])
    expect(saying(server, '"level":"error"')).toEqual([])
  })

  test('a consumer continues at the next server from where it was', async () => {
    const settings = { DATABASE_URL: await someDatabase() }
    const first = await startShop(settings)
    const [one, two] = [await newUser(first), await newUser(first)]
    const before = await openStream(first)
    await logout(first, one)
    const { id } = await before.next(({ data }) => data.user_id === one.user.id)
    // The next revocation happens while the consumer has no stream.
    before.close()
    await logout(first, two)
    await first.stop()
    const second = await startInstance(settings)
    const after = await openStream(second, Number(id))
    await after.next(({ data }) => data.user_id === two.user.id)
    // Earlier events may come again; this one comes once.
    expect(after.events.filter(({ data }) => data.user_id === two.user.id)).toHaveLength(1)
    const three = await newUser(second)
    await logout(second, three)
    await after.next(({ data }) => data.user_id === three.user.id)
  })
})

test('many consumers on one server all get each revocation, and logins continue meanwhile', async () => {
  const server = await startShop({ DATABASE_URL: await someDatabase() })
  const users = await atOnce(5, () => newUser(server))
  const streams = (await atOnce(5, async () => Promise.all(Array.from({ length: 60 }, () => openStream(server))))).flat()
  const logins = atOnce(10, () => server.login(users[0]!.user.email, app.code))
  for (const user of users) await logout(server, user)
  for (const { user } of users) await Promise.all(streams.map((stream) => stream.next(({ data }) => data.user_id === user.id)))
  for (const stream of streams) expect(stream.events).toHaveLength(users.length)
  expect((await logins).map((reply) => reply.status)).toEqual(Array(10).fill(200))
})

test.runIf(!onPostgres)('a revocation that another program writes into an SQLite database arrives within seconds', async () => {
  const url = await someDatabase()
  const server = await startShop({ DATABASE_URL: url })
  const stream = await openStream(server)
  const db = createKnex({ databaseUrl: url, dbPoolMax: 1 })
  const user_id = randomUUID()
  try {
    await db('revocations').insert({ user_id, app_id: null, session_id: null, min_tv: 2, at: Date.now() })
  } finally {
    await db.destroy()
  }
  await stream.next(({ data }) => data.user_id === user_id, 20_000)
})

describe.runIf(onPostgres)('servers that share a Postgres database', () => {
  test('servers inform each other at once, even with one connection each in the pool', async () => {
    const settings = { DATABASE_URL: await someDatabase(), DB_POOL_MAX: '1' }
    const one = await startShop(settings)
    const two = await startWithoutIntervals(settings)
    await waitFor(() => saying(two, hearing).length > 0)
    const stream = await openStream(two)
    const users = await atOnce(8, () => newUser(one))
    for (const user of users) {
      await logout(one, user)
      await stream.next(({ data }) => data.user_id === user.user.id)
    }
    expect(saying(two, silent)).toEqual([])
  })

  test('a server warns once and polls each second if LISTEN is silent, as behind PgBouncer', async () => {
    const database = await someDatabase()
    const proxy = await startPostgresProxy(database)
    proxy.mute(true)
    const one = await startShop({ DATABASE_URL: database })
    const two = await startInstance({ DATABASE_URL: proxy.url })
    await waitFor(() => saying(two, silent).length > 0)
    expect(JSON.parse(saying(two, silent)[0]!).level).toBe('warn')
    const stream = await openStream(two)
    for (let round = 0; round < 3; round += 1) {
      const user = await newUser(one)
      await logout(one, user)
      await stream.next(({ data }) => data.user_id === user.user.id)
    }
    expect(saying(two, silent)).toHaveLength(1)
    expect(saying(two, hearing)).toEqual([])
    // A server needs no notification of its own revocations.
    const own = await newUser(two)
    await logout(two, own)
    await stream.next(({ data }) => data.user_id === own.user.id)
    // It reports that it hears revocations as soon as notifications get through.
    proxy.mute(false)
    await waitFor(() => saying(two, hearing).length > 0)
    await two.stop()
  })

  test('no revocation is lost when connections break, because it is read after they return', async () => {
    const database = await someDatabase()
    const proxy = await startPostgresProxy(database)
    const one = await startShop({ DATABASE_URL: database })
    const two = await startInstance({ DATABASE_URL: proxy.url })
    await waitFor(() => saying(two, hearing).length > 0)
    const stream = await openStream(two)
    const users = await atOnce(3, () => newUser(one))
    proxy.cut({ andRefuse: true })
    for (const user of users) await logout(one, user)
    await sleep(1_500)
    expect(stream.events).toEqual([])
    proxy.accept()
    for (const { user } of users) await stream.next(({ data }) => data.user_id === user.id)
    await waitFor(() => saying(two, hearing).length > 1)
    expect(stream.events).toHaveLength(users.length)
    await two.stop()
  })
})
