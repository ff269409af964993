// No reader of a feed misses a row, whatever the transactions that write them do: two servers and two writers, each a process of
// its own.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { assertionOf, type EventStream, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { keyOfItem, type WriterTask, writeFeed } from '../support/feed-writer.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, callHttp, type Json, PASSWORD, testDatabase } from '../support/service.ts'

const app = { code: 'shop' }
/** Of one of two processes. More rows are written meanwhile than a page holds. */
const work = { busyMs: 8_000, writers: 6, bulk: { transactions: 15, rows: 80 } }

interface Reader {
  name: string
  heard: Set<string>
  running: Promise<void>
}

/** What reads a feed: its path, and the credential for it. */
interface Access {
  path: string
  token: string
}

/** Polls one server or the other, with the cursor of the page before. */
function startPoller(
  name: string,
  { path, token }: Access,
  servers: readonly ServerProcess[],
  next: () => number,
  isOver: () => boolean,
): Reader {
  const reader: Reader = { name, heard: new Set(), running: Promise.resolve() }
  reader.running = (async () => {
    let cursor: number | undefined
    while (!isOver()) {
      let page: Json = { has_more: true }
      for (let last = -1; page.has_more && !isOver(); last = page.cursor) {
        const { url } = servers[Math.floor(next() * servers.length)]!
        const since = cursor === undefined ? '' : `since=${cursor}`
        page = (await callHttp(`${url}/api/v1${path}${since}`, 'GET', { token })).body
        expect(page.reset).toBe(false)
        if (page.has_more) expect(page.cursor).toBeGreaterThan(last)
        for (const item of page.items) reader.heard.add(keyOfItem(item))
        cursor = page.cursor
      }
      await sleep(next() * 400)
    }
  })()
  return reader
}

/** Reads a stream for a while, then one of another server from the last event on. */
function startStreamer(name: string, servers: readonly ServerProcess[], next: () => number, isOver: () => boolean): Reader {
  const reader: Reader = { name, heard: new Set(), running: Promise.resolve() }
  reader.running = (async () => {
    let cursor: number | undefined
    while (!isOver()) {
      const { url } = servers[Math.floor(next() * servers.length)]!
      const options = cursor === undefined ? {} : { lastEventId: cursor }
      const stream: EventStream = await openEventStream(`${url}/api/v1/revocations/stream`, assertionOf(app), options)
      let taken = 0
      const take = () => {
        for (const { event, data } of stream.events.slice(taken)) {
          expect(event).toBe('message')
          reader.heard.add(keyOfItem(data))
          cursor = data.cursor
          taken += 1
        }
      }
      const until = performance.now() + next() * 1_500
      while (performance.now() < until && !isOver()) {
        take()
        await sleep(20)
      }
      take()
      stream.close()
    }
  })()
  return reader
}

test.runIf(testDatabase() === 'postgres').each([
  [1, 'revocations'],
  [2, 'revocations'],
  [3, 'user_changes'],
] as const)(
  'no reader misses a row of slow, aborted, nested and long transactions on two servers (seed %i, %s)',
  { timeout: 180_000 },
  async (seed, feed) => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, AUTH_RATE_LIMIT_IP: 'off', AUTH_RATE_LIMIT_ACCOUNT: 'off', ...bootstrapAdmin }
    const servers = [await startServer(settings), await startServer(settings)]
    const [one] = servers
    const token = (await one!.login(ADMIN_EMAIL, 'authctl')).body.access_token
    const body = { ...app, name: 'Shop', auto_grant_on_signup: true }
    const { id: appId } = (await one!.call('POST', '/admin/apps', { token, body })).body
    const register = async (server: ServerProcess): Promise<Json> => {
      const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code }
      return { body, ...(await server.call('POST', '/auth/register', { body })).body }
    }
    const { user } = await register(one!)

    const account = { name: 'crm', service: 'crm', scopes: ['users:changes'], app_codes: [app.code] }
    const { token: accountToken } = (await one!.call('POST', '/admin/service-accounts', { token, body: account })).body
    const access: Access =
      feed === 'revocations'
        ? { path: '/revocations?', token: assertionOf(app) }
        : { path: `/consumer/changes?app_code=${app.code}&`, token: accountToken }
    const { cursor: first } = (await one!.call('GET', access.path, { token: access.token })).body
    let isOver = false
    const poller = (index: number) =>
      startPoller(`poller ${index}`, access, servers, chance(seed * 100 + index).next, () => isOver)
    const streamer = (index: number) => startStreamer(`streamer ${index}`, servers, chance(seed * 200 + index).next, () => isOver)
    const readers = [0, 1, 2].flatMap((index) => (feed === 'revocations' ? [poller(index), streamer(index)] : [poller(index)]))

    const until = performance.now() + work.busyMs
    /** Writes through a server, and returns the keys of what it has written. */
    const overHttp = async (server: ServerProcess): Promise<string[]> => {
      const { user, access_token, body } = await register(server)
      for (let round = 0; performance.now() < until; round += 1) {
        if (feed === 'user_changes') {
          await server.call('PATCH', '/auth/me', { token: access_token, body: { first_name: `Ada ${round}` } })
          continue
        }
        await server.call('POST', '/auth/login', { body })
        await server.call('POST', `/admin/users/${user.id}/logout`, { token })
      }
      const observer = createKnex({ databaseUrl: database.url, dbPoolMax: 1 })
      const rows = await observer(feed).where({ user_id: user.id })
      await observer.destroy()
      expect(rows.length).toBeGreaterThan(0)
      return rows.map(keyOfItem)
    }
    const task: WriterTask = { databaseUrl: database.url, feed, appId, userId: user.id, seed, ...work }
    const [ofServers, ...ofWriters] = await Promise.all([
      Promise.all(servers.map(overHttp)),
      writeFeed({ ...task, seed: seed * 10 }),
      writeFeed({ ...task, seed: seed * 10 + 1 }),
    ])
    const committed = [...ofServers.flat(), ...ofWriters.flatMap(({ committed }) => committed)]
    const aborted = ofWriters.flatMap(({ aborted }) => aborted)
    expect(committed.length).toBeGreaterThan(2 * work.bulk.transactions * work.bulk.rows)
    expect(aborted.length).toBeGreaterThan(10)

    const missing = () => readers.map(({ name, heard }) => [name, committed.filter((key) => !heard.has(key)).length])
    const nothing = readers.map(({ name }) => [name, 0])
    await expect.poll(missing, { timeout: 30_000, interval: 100 }).toEqual(nothing)
    isOver = true
    await Promise.all(readers.map(({ running }) => running))
    for (const { heard } of readers) expect(aborted.filter((key) => heard.has(key))).toEqual([])

    // Once nothing is written any more, a poll from the beginning has every row and ends.
    const pages = []
    for (let cursor = first; ; cursor = pages.at(-1).cursor) {
      pages.push((await one!.call('GET', `${access.path}since=${cursor}`, { token: access.token })).body)
      if (!pages.at(-1).has_more || pages.length === 60) break
    }
    const last = pages.flatMap(({ items }) => items.map(keyOfItem))
    expect([pages.at(-1).has_more, committed.filter((key) => !last.includes(key))]).toEqual([false, []])
  },
)
