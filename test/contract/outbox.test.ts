// What the outbox guarantees for every kind of message: leases, fair turns, an orderly shutdown.
import { describe, expect, onTestFinished, test } from 'vitest'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import type { OutboxRow } from '../../packages/server/src/models/outbox-message.ts'
import { addToOutbox, completeAttempt, leaseMessages } from '../../packages/server/src/resources/outbox/outbox.ts'
import { type Channel, startOutbox } from '../../packages/server/src/workers/outbox.ts'
import { createDatabase } from '../support/database.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { deliveriesOf, idle, passTime, sendWebhooks } from '../support/outbox.ts'
import { startPostgresProxy } from '../support/postgres-proxy.ts'
import { startReceiver } from '../support/receiver.ts'
import { countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type TestService, testDatabase } from '../support/service.ts'

const anything = { kind: 'webhook' as const, limit: 50, perDestination: 50, busyDestinations: [] }

function entryTo(destination: string, kind: OutboxRow['kind'] = 'webhook') {
  return { kind, app_id: null, user_id: null, name: 'n', destination, payload: '{}' }
}

async function add({ deps }: TestService, destinations: readonly string[], kind?: OutboxRow['kind']): Promise<string[]> {
  return transaction(deps, (deps) =>
    addToOutbox(
      deps,
      destinations.map((destination) => entryTo(destination, kind)),
    ),
  )
}

describe('leases of messages', () => {
  test('each message is leased by one of several workers, and all messages are leased', async () => {
    const service = await buildService()
    const ids = await add(service, Array(120).fill('a'))
    const leased: string[] = []
    const claimAll = async () => {
      for (;;) {
        const messages = await leaseMessages(service.deps, { ...anything, limit: 7 })
        if (messages.length === 0 && leased.length >= ids.length) return
        expect(messages.length).toBeLessThanOrEqual(7)
        leased.push(...messages.map(({ id }) => id))
      }
    }
    await Promise.all(Array.from({ length: 6 }, claimAll))
    expect(leased.sort()).toEqual(ids.sort())
  })

  test('leasing continues after the migration of a next version has added a column', async () => {
    const service = await buildService()
    const [before] = await add(service, ['a'])
    expect(await leaseMessages(service.deps, anything)).toMatchObject([{ id: before }])
    await service.deps.db.schema.alterTable('outbox', (table) => table.text('of_a_next_version'))
    const [after] = await add(service, ['b'])
    expect(await leaseMessages(service.deps, anything)).toMatchObject([{ id: after }])
  })

  test('leasing takes the oldest messages of each idle destination in turn, of one kind', async () => {
    const service = freezeClock(await buildService())
    const lease = async (more: object) =>
      (await leaseMessages(service.deps, { ...anything, ...more })).map(({ destination }) => destination).sort()
    await add(service, [...Array(40).fill('first'), 'busy', 'busy'])
    service.advance(1)
    await add(service, ['second', 'second', 'third'])
    await add(service, ['someone@example.com'], 'mail')
    expect(await lease({ limit: 3, busyDestinations: ['busy'] })).toEqual(['first', 'second', 'third'])
    expect(await lease({ perDestination: 2, busyDestinations: ['busy'] })).toEqual(['first', 'first', 'second'])
    expect(await lease({ limit: 2, busyDestinations: ['first'] })).toEqual(['busy', 'busy'])
    expect(await lease({ busyDestinations: ['first'] })).toEqual([])
    expect(await lease({ kind: 'mail' })).toEqual(['someone@example.com'])
  })

  test('a message whose lease has ended is leased again, and its first holder can complete nothing', async () => {
    const service = freezeClock(await buildService())
    const [id] = await add(service, ['a'])
    const [first] = await leaseMessages(service.deps, anything)
    service.advance(59)
    expect(await leaseMessages(service.deps, anything)).toEqual([])
    service.advance(1)
    const [second] = await leaseMessages(service.deps, anything)
    expect(second).toMatchObject({ id, attempts: 0 })
    expect(await completeAttempt(service.deps, first!, { result: 'delivered' }, { waitMs: undefined })).toBe(false)
    expect(await service.deps.db('outbox').where({ id }).first('status', 'attempts')).toEqual({ status: 'pending', attempts: 0 })
    expect(await completeAttempt(service.deps, second!, { result: 'delivered' }, { waitMs: undefined })).toBe(true)
    expect(await completeAttempt(service.deps, second!, { result: 'delivered' }, { waitMs: undefined })).toBe(false)
    expect(await leaseMessages(service.deps, anything)).toEqual([])
  })

  test('leasing finds no message that is not due, finished or not committed', async () => {
    const service = freezeClock(await buildService())
    const undone = transaction(service.deps, async (deps) => {
      await addToOutbox(deps, [entryTo('a')])
      throw new Error('taken back')
    })
    await expect(undone).rejects.toThrow('taken back')
    expect(await leaseMessages(service.deps, anything)).toEqual([])
    await add(service, ['a'])
    const [message] = await leaseMessages(service.deps, anything)
    await completeAttempt(service.deps, message!, { result: 'failed', error: 'no' }, { waitMs: 5_000 })
    service.advance(4)
    expect(await leaseMessages(service.deps, anything)).toEqual([])
    service.advance(1)
    expect(await leaseMessages(service.deps, anything)).toMatchObject([{ attempts: 1 }])
  })
})

test('an error is stored whatever characters the other side put into it', async () => {
  const service = freezeClock(await buildService())
  const [id] = await add(service, ['a'])
  const [message] = await leaseMessages(service.deps, anything)
  const error = `550 no\0such\r\nuser 🦊${'x'.repeat(2_000)}`
  expect(await completeAttempt(service.deps, message!, { result: 'failed', error }, { waitMs: undefined })).toBe(true)
  const { last_error } = await service.deps.db('outbox').where({ id }).first('last_error')
  expect(last_error).toBe(`550 no such user 🦊${'x'.repeat(2_000)}`.slice(0, 500))
})

/** A channel whose attempts last until they are released. `seen` has the ids it was given, and the most attempts at one time. */
function heldChannel(limits: Partial<Channel> = {}) {
  const held: { message: OutboxRow; release: () => void }[] = []
  let underway = 0
  const seen = { ids: [] as string[], most: 0 }
  const channel: Channel = {
    atOnce: 20,
    atOncePerDestination: 8,
    waitsMs: [],
    async attempt(_, message) {
      underway += 1
      seen.most = Math.max(seen.most, underway)
      seen.ids.push(message.id)
      await new Promise<void>((resolve) => held.push({ message, release: resolve }))
      underway -= 1
      return { result: 'delivered' }
    },
    ...limits,
  }
  const release = (which: (message: OutboxRow) => boolean = () => true) => {
    for (const [index, { message, release }] of [...held.entries()].reverse()) {
      if (!which(message)) continue
      held.splice(index, 1)
      release()
    }
  }
  return { channel, held, seen, release }
}

/** Keeps releasing until the test ends. */
function keepReleasing(release: () => void): void {
  const timer = setInterval(release, 5)
  onTestFinished(() => clearInterval(timer))
}

test('no more messages are under way than allowed, and every message has its turn', async () => {
  const service = await buildService()
  const { channel, held, seen, release } = heldChannel({ atOnce: 5, atOncePerDestination: 5 })
  const destinations = Array.from({ length: 60 }, (_, index) => `${index % 6}@example.com`)
  const ids = await add(service, destinations, 'mail')
  const worker = startOutbox(service.deps, { webhook: idle, mail: channel })
  await expect.poll(() => held.length, { interval: 5 }).toBe(5)
  keepReleasing(release)
  await expect.poll(() => seen.ids.length, { interval: 10 }).toBe(60)
  await worker.stop()
  expect(seen.most).toBe(5)
  expect(seen.ids.toSorted()).toEqual(ids.toSorted())
})

test('any number of dead destinations leave room for a live one', async () => {
  const service = await buildService()
  const { channel, held, seen, release } = heldChannel({ atOnce: 40, atOncePerDestination: 16 })
  const dead = Array.from({ length: 12 }, (_, index) => Array(30).fill(`dead ${index}`)).flat()
  await add(service, dead)
  const worker = startOutbox(service.deps, { webhook: channel, mail: idle })
  const reached = () => new Set(held.map(({ message }) => message.destination)).size
  await expect.poll(reached, { interval: 5 }).toBe(12)
  for (const turn of [1, 2, 3]) {
    await add(service, ['alive'])
    const isThere = () => held.some(({ message }) => message.destination === 'alive')
    await expect.poll(isThere, { interval: 5, message: `turn ${turn}` }).toBe(true)
    release(({ destination }) => destination === 'alive')
  }
  expect(seen.most).toBeLessThanOrEqual(40)
  keepReleasing(release)
  await expect.poll(() => countRows(service, 'outbox', { status: 'pending' }), { interval: 20 }).toBe(0)
  await worker.stop()
})

describe('the end of the outbox worker', () => {
  test('the worker waits for attempts under way, and begins no others', async () => {
    const service = await buildService()
    const { channel, held, seen, release } = heldChannel({ atOnce: 10, atOncePerDestination: 3 })
    await add(service, [...Array(3).fill('a'), 'a', 'a', 'a'])
    const worker = startOutbox(service.deps, { webhook: channel, mail: idle })
    await expect.poll(() => held.length, { interval: 5 }).toBe(3)
    let hasEnded = false
    const ended = worker.stop().then(() => {
      hasEnded = true
    })
    await add(service, ['b'])
    expect(hasEnded).toBe(false)
    release()
    await ended
    expect(seen.ids).toHaveLength(3)
    expect(await countRows(service, 'outbox', { status: 'delivered' })).toBe(3)
    expect(await countRows(service, 'outbox', { status: 'pending', attempts: 0 })).toBe(4)
  })

  test('the worker drops its pending retries, and the next start makes them', async () => {
    const service = freezeClock(await buildService())
    const receiver = await startReceiver((response, _, turn) => void response.writeHead(turn === 1 ? 500 : 200).end())
    const app = await buildApp(service, { webhooks: [{ name: 'crm', url: receiver.url }] })
    const worker = sendWebhooks(service)
    await buildUser(service, app)
    await deliveriesOf(service, app, [{ attempts: 1 }])
    await worker.stop()
    passTime(service, 2)
    sendWebhooks(service)
    await deliveriesOf(service, app, [{ status: 'delivered', attempts: 2 }])
  })
})

describe.runIf(testDatabase() === 'postgres')('the outbox without its database', () => {
  async function buildBehindProxy() {
    const database = await createDatabase('postgres')
    const proxy = await startPostgresProxy(database.url)
    onTestFinished(() => database.drop())
    const service = await buildService({ DATABASE_URL: proxy.url })
    const app = await buildApp(service)
    let answer = () => {}
    const receiver = await startReceiver((response) => {
      answer = () => void response.writeHead(204).end()
    })
    await service.admin('PATCH', `/admin/apps/${app.id}`, { body: { webhooks: [{ name: 'crm', url: receiver.url }] } })
    return { proxy, service, app, receiver, answer: () => answer() }
  }

  test('an attempt that has ended is completed when the database is back, and not repeated', async () => {
    const { proxy, service, app, receiver, answer } = await buildBehindProxy()
    sendWebhooks(service)
    await buildUser(service, app)
    await expect.poll(() => receiver.requests.length, { interval: 10 }).toBe(1)
    proxy.cut({ andRefuse: true })
    answer()
    await expect.poll(receiver.unanswered, { interval: 10 }).toBe(0)
    expect((await service.call('GET', '/ready')).status).toBe(503)
    proxy.accept()
    await deliveriesOf(service, app, [{ status: 'delivered', attempts: 1 }])
    expect(receiver.requests).toHaveLength(1)
  })

  test('the worker ends without waiting for the database', async () => {
    const { proxy, service, app, receiver, answer } = await buildBehindProxy()
    const worker = sendWebhooks(service)
    await buildUser(service, app)
    await expect.poll(() => receiver.requests.length, { interval: 10 }).toBe(1)
    proxy.cut({ andRefuse: true })
    const ended = worker.stop()
    answer()
    await ended
    proxy.accept()
    await deliveriesOf(service, app, [{ status: 'pending', attempts: 0 }])
  })
})
