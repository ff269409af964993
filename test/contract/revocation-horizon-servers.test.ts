// No reader of the revocations misses one, whatever the transactions that write them do: on two servers, each a process of its own.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from '../support/chance.ts'
import { assertionOf, type EventStream, openEventStream } from '../support/consumer.ts'
import { createDatabase } from '../support/database.ts'
import { type ServerProcess, startServer } from '../support/server-process.ts'
import { ADMIN_EMAIL, bootstrapAdmin, callHttp, type Json, PASSWORD, testDatabase } from '../support/service.ts'

const app = { code: 'shop' }
const writers = 12
/** How long the writers go on, and the longest transaction stays open. More rows are written meanwhile than a page holds. */
const busyMs = 8_000
const bulk = { transactions: 30, rows: 80 }

interface Reader {
  name: string
  heard: Set<string>
  /** The most pages that one poll took. */
  mostPages: number
  running: Promise<void>
}

const keyOf = ({ user_id, min_tv }: Json) => `${user_id}:${min_tv}`

/** Polls one server or the other, with the cursor of the page before. */
function startPoller(name: string, servers: readonly ServerProcess[], next: () => number, isOver: () => boolean): Reader {
  const reader: Reader = { name, heard: new Set(), mostPages: 0, running: Promise.resolve() }
  reader.running = (async () => {
    let cursor: number | undefined
    while (!isOver()) {
      let page: Json = { has_more: true }
      let pages = 0
      for (let last = -1; page.has_more && !isOver(); last = page.cursor) {
        const { url } = servers[Math.floor(next() * servers.length)]!
        const since = cursor === undefined ? '' : `?since=${cursor}`
        page = (await callHttp(`${url}/api/v1/revocations${since}`, 'GET', { token: assertionOf(app) })).body
        expect(page.reset).toBe(false)
        if (page.has_more) expect(page.cursor).toBeGreaterThan(last)
        for (const item of page.items) reader.heard.add(keyOf(item))
        cursor = page.cursor
        pages += 1
      }
      reader.mostPages = Math.max(reader.mostPages, pages)
      await sleep(next() * 400)
    }
  })()
  return reader
}

/** Reads a stream for a while, then one of another server from the last event on. */
function startStreamer(name: string, servers: readonly ServerProcess[], next: () => number, isOver: () => boolean): Reader {
  const reader: Reader = { name, heard: new Set(), mostPages: 0, running: Promise.resolve() }
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
          reader.heard.add(keyOf(data))
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

test.runIf(testDatabase() === 'postgres').each([1, 2])(
  'no reader misses a revocation of slow, aborted, nested and long transactions on two servers (seed %i)',
  { timeout: 180_000 },
  async (seed) => {
    const database = await createDatabase('postgres', inject('templates'))
    onTestFinished(() => database.drop())
    const settings = { DATABASE_URL: database.url, AUTH_RATE_LIMIT_IP: 'off', AUTH_RATE_LIMIT_ACCOUNT: 'off', ...bootstrapAdmin }
    const servers = [await startServer(settings), await startServer(settings)]
    const [one] = servers
    const token = (await one!.login(ADMIN_EMAIL, 'authctl')).body.access_token
    await one!.call('POST', '/admin/apps', { token, body: { ...app, name: 'Shop', auto_grant_on_signup: true } })
    const db = createKnex({ databaseUrl: database.url, dbPoolMax: writers + 4 })
    onTestFinished(() => db.destroy())
    const { next } = chance(seed)

    const committed = new Set<string>()
    const aborted = new Set<string>()
    const rowOf = () => ({
      cursor: db.raw("-nextval('revocations_cursor_seq')"),
      user_id: randomUUID(),
      app_id: null,
      session_id: null,
      min_tv: 1 + Math.floor(next() * 1_000_000),
      at: Date.now(),
    })
    const insertRows = async (openMs: number, count: number, ends: 'commit' | 'rollback' | 'nested') => {
      const rows = Array.from({ length: count }, rowOf)
      const lost = ends === 'nested' ? [rowOf()] : []
      const trx = await db.transaction()
      // Some have their id long before they write what readers look for, and others write early and commit late.
      if (next() < 0.5) await trx.raw('select pg_current_xact_id()')
      if (next() < 0.5) await sleep(openMs / 2)
      if (ends === 'nested') {
        const undone = await trx.transaction()
        await undone('revocations').insert(lost)
        await undone.rollback()
        await trx.transaction((kept) => kept('revocations').insert(rows))
      } else await trx('revocations').insert(rows)
      await sleep(openMs / 2)
      for (const row of lost) aborted.add(keyOf(row))
      if (ends === 'rollback') {
        for (const row of rows) aborted.add(keyOf(row))
        return trx.rollback()
      }
      await trx.commit()
      for (const row of rows) committed.add(keyOf(row))
      if (next() < 0.3) await db.raw("select pg_notify('gatehouse_revocations', 'new')")
    }

    let isOver = false
    const readers = [0, 1, 2].flatMap((index) => [
      startPoller(`poller ${index}`, servers, chance(seed * 100 + index).next, () => isOver),
      startStreamer(`streamer ${index}`, servers, chance(seed * 200 + index).next, () => isOver),
    ])
    const until = performance.now() + busyMs
    const random = async () => {
      while (performance.now() < until) {
        const kind = next()
        const openMs = next() < 0.2 ? next() * 1_500 : next() * 40
        await insertRows(openMs, 1 + Math.floor(next() * 3), kind < 0.2 ? 'rollback' : kind < 0.4 ? 'nested' : 'commit')
      }
    }
    const overHttp = async (server: ServerProcess) => {
      const body = { email: `${randomUUID()}@example.com`, password: PASSWORD, app_code: app.code }
      const { user, access_token } = (await server.call('POST', '/auth/register', { body })).body
      void access_token
      while (performance.now() < until) {
        await server.call('POST', '/auth/login', { body })
        await server.call('POST', `/admin/users/${user.id}/logout`, { token })
      }
      return user.id as string
    }
    const bulkWriter = async () => {
      await sleep(1_000)
      for (let round = 0; round < bulk.transactions; round += 1) await insertRows(0, bulk.rows, 'commit')
      // One transaction with more rows than a page.
      await insertRows(200, 1_500, 'commit')
    }
    const [userIds] = await Promise.all([
      Promise.all(servers.map(overHttp)),
      insertRows(busyMs, 1, 'commit'),
      bulkWriter(),
      ...Array.from({ length: writers }, random),
    ])
    for (const row of await db('revocations').whereIn('user_id', userIds)) committed.add(keyOf(row))
    expect(committed.size).toBeGreaterThan(bulk.transactions * bulk.rows)
    expect(aborted.size).toBeGreaterThan(10)

    const missing = () => readers.map(({ name, heard }) => [name, [...committed].filter((key) => !heard.has(key)).length])
    const nothing = readers.map(({ name }) => [name, 0])
    await expect.poll(missing, { timeout: 30_000, interval: 100 }).toEqual(nothing)
    isOver = true
    await Promise.all(readers.map(({ running }) => running))
    for (const { heard } of readers) expect([...aborted].filter((key) => heard.has(key))).toEqual([])
    // A held-up horizon repeats rows, but no poll goes on for ever: each part of a place is one page.
    for (const { name, mostPages } of readers) expect([name, mostPages < 60]).toEqual([name, true])
  },
)
