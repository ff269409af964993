// Delivery is at least once: every committed event is delivered under its id, whenever the server dies or stops.
import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { ADMIN_EMAIL, bootstrapAdmin, PASSWORD } from '../support/client.ts'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured, sized } from '../support/fault.ts'
import { hang, type Received, startReceiver } from '../support/receiver.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'

const rounds = sized(2, 20)
const clients = 6

async function startOn(kind: DatabaseKind) {
  const database = await createDatabase(kind)
  onTestFinished(() => database.drop())
  const settings = {
    DATABASE_URL: database.url,
    ...bootstrapAdmin,
  }
  const start = () => startServer(settings)
  const createApp = async (server: ServerProcess, url: string) => {
    const token = (await server.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { code: 'shop', name: 'Shop', webhooks: [{ name: 'crm', url }] }
    expect((await server.call('POST', '/admin/apps', { token, body })).status).toBe(201)
  }
  return { start, createApp, databaseUrl: database.url }
}

/** Opens the database directly, to read its events and to end the leases of dead servers. */
async function withDatabase<T>(databaseUrl: string, use: (db: ReturnType<typeof createKnex>) => Promise<T>): Promise<T> {
  const db = createKnex({ databaseUrl, dbPoolMax: 1 })
  try {
    return await use(db)
  } finally {
    await db.destroy()
  }
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('kill -9 between commit and acknowledgement loses no event', { timeout: 600_000 }, async (context) => {
    const { start, createApp, databaseUrl } = await startOn(kind)
    const dice = chance(kind.length)
    let kill = () => {}
    let untilKill = Number.POSITIVE_INFINITY
    const receiver = await startReceiver((response) => {
      untilKill -= 1
      if (untilKill === 0) kill()
      setTimeout(() => response.writeHead(204).end(), dice.next() * 40)
    })
    let server = await start()
    await createApp(server, receiver.url)
    let acknowledged = 0
    for (let round = 0; round < rounds; round += 1) {
      let isOver = false
      const client = async () => {
        while (!isOver) {
          const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
          const reply = await server.call('POST', '/auth/register', { body }).catch(() => undefined)
          if (reply?.status === 201) acknowledged += 1
        }
      }
      const load = Promise.all(Array.from({ length: clients }, client))
      // Kill the server at the n-th delivery of this round, while some earlier ones have no answer yet.
      untilKill = 1 + Math.floor(dice.next() * 12)
      kill = () => server.signal('SIGKILL')
      await server.ended
      isOver = true
      await load
      // Instead of waiting a minute for the leases of the dead server to end, make its messages due now.
      await withDatabase(databaseUrl, (db) => db('outbox').where({ status: 'pending' }).update({ next_attempt_at: 0 }))
      server = await start()
    }
    const entries: { id: string; user_id: string }[] = await withDatabase(databaseUrl, (db) =>
      db('outbox').where({ kind: 'webhook' }).select('id', 'user_id'),
    )
    const users: string[] = await withDatabase(databaseUrl, (db) => db('users').whereLike('email', '%-%').pluck('id'))
    expect(acknowledged).toBeGreaterThan(0)
    expect(entries.map(({ user_id }) => user_id).sort()).toEqual(users.sort())
    expect(entries.length).toBeGreaterThanOrEqual(acknowledged)
    const told = () => new Map(receiver.requests.map((request) => [request.headers['webhook-id'], userOf(request)]))
    await expect.poll(() => told().size, { interval: 20 }).toBe(entries.length)
    expect(told()).toEqual(new Map(entries.map(({ id, user_id }) => [id, user_id])))
    // Deliveries in progress at a kill were repeated under their id. Without any, this test would have tested nothing.
    expect(receiver.requests.length).toBeGreaterThan(entries.length)
    measured(
      context,
      `${rounds} kills, ${entries.length} events, ${receiver.requests.length} deliveries: 0 lost, ${receiver.requests.length - entries.length} repeated under their id`,
    )
    expect((await server.stop()).code).toBe(0)
  })

  test('SIGTERM in the middle of deliveries lets them finish, and none is made again', { timeout: 300_000 }, async (context) => {
    const { start, createApp } = await startOn(kind)
    const answers: (() => void)[] = []
    const receiver = await startReceiver((response) => {
      answers.push(() => void response.writeHead(204).end())
    })
    const server = await start()
    await createApp(server, receiver.url)
    for (let index = 0; index < 5; index += 1) await register(server)
    await expect.poll(() => answers.length, { interval: 10 }).toBe(5)
    const ended = server.stop()
    await expect.poll(() => refuses(server), { interval: 10 }).toBe(true)
    for (const answer of answers) answer()
    expect(await ended).toEqual({ code: 0, signal: null })

    const next = await start()
    await register(next)
    await expect.poll(() => answers.length, { interval: 10 }).toBe(6)
    answers[5]!()
    expect((await next.stop()).code).toBe(0)
    expect(new Set(receiver.requests.map(userOf)).size).toBe(6)
    expect(receiver.requests).toHaveLength(6)
    measured(context, '5 under way finished, 0 made again, exit 0')
  })
})

test('SIGTERM does not wait longer for a receiver that hangs than one attempt may take', {
  timeout: 300_000,
}, async (context) => {
  const { start, createApp } = await startOn('sqlite')
  const receiver = await startReceiver(hang)
  const server = await start()
  await createApp(server, receiver.url)
  await register(server)
  await expect.poll(() => receiver.requests.length, { interval: 10 }).toBe(1)
  const started = performance.now()
  expect(await server.stop()).toEqual({ code: 0, signal: null })
  measured(context, `exit 0 after ${((performance.now() - started) / 1_000).toFixed(1)} s`)
  const [line] = server.lines().filter((line) => line.includes('"not sent"'))
  expect(JSON.parse(line!)).toMatchObject({ kind: 'webhook', attempt: 1, error: 'no complete response within 5 s' })
  expect(line).not.toContain(receiver.url)
})

function userOf({ body }: Received): string {
  return JSON.parse(body).user.id
}

async function register(server: ServerProcess): Promise<void> {
  const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: 'shop' }
  expect((await server.call('POST', '/auth/register', { body })).status).toBe(201)
}

async function refuses(server: ServerProcess): Promise<boolean> {
  return server.call('GET', '/health').then(
    () => false,
    () => true,
  )
}
