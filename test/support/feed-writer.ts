// A process that writes rows of a feed by SQL, in transactions of every kind. The test of the horizon starts several.
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { chance } from './chance.ts'

export interface WriterTask {
  databaseUrl: string
  feed: 'revocations' | 'user_changes'
  /** The app of the rows, and a user whom it knows. */
  appId: string
  userId: string
  seed: number
  /** How long it goes on, and the longest transaction stays open. */
  busyMs: number
  writers: number
  bulk: { transactions: number; rows: number }
}

/** What readers must see, and what they must not. */
export interface Written {
  committed: string[]
  aborted: string[]
}

/** Starts a process that does the task. */
export function writeFeed(task: WriterTask): Promise<Written> {
  return new Promise((resolve, reject) => {
    const child = fork(import.meta.filename, [JSON.stringify(task)], { execArgv: ['--experimental-strip-types'] })
    child.once('message', (written) => resolve(written as Written))
    child.once('exit', (code) => reject(new Error(`a writer ended with ${code}`)))
  })
}

/** Names a row of a feed, as it is written and as readers get it. */
export function keyOfItem(item: { user_id: string; min_tv?: number; at: number | string }): string {
  return item.min_tv === undefined ? `${item.user_id} ${new Date(item.at).getTime()}` : `${item.user_id} ${item.min_tv}`
}

async function write({ databaseUrl, feed, appId, userId, seed, busyMs, writers, bulk }: WriterTask): Promise<Written> {
  const db = createKnex({ databaseUrl, dbPoolMax: writers + 4 })
  const { next } = chance(seed)
  const committed: string[] = []
  const aborted: string[] = []
  // Each change has a time of its own, which names it.
  let at = Date.now() - 3_600_000 + seed * 100_000
  const revocation = () => ({
    cursor: db.raw("-nextval('revocations_cursor_seq')"),
    user_id: randomUUID(),
    app_id: null,
    session_id: null,
    min_tv: 1 + Math.floor(next() * 1_000_000),
    at: Date.now(),
  })
  const change = () => ({ type: 'names_changed', user_id: userId, app_id: appId, at: at++ })
  const rowOf = (): { user_id: string; min_tv?: number; at: number } => (feed === 'revocations' ? revocation() : change())

  const insertRows = async (openMs: number, count: number, ends: 'commit' | 'rollback' | 'nested') => {
    const rows = Array.from({ length: count }, rowOf)
    const lost = ends === 'nested' ? [rowOf()] : []
    const trx = await db.transaction()
    // Some have their id long before they write what readers look for, and others write early and commit late.
    if (next() < 0.5) await trx.raw('select pg_current_xact_id()')
    if (next() < 0.5) await sleep(openMs / 2)
    if (ends === 'nested') {
      const undone = await trx.transaction()
      await undone(feed).insert(lost)
      await undone.rollback()
      await trx.transaction((kept) => kept(feed).insert(rows))
    } else await trx(feed).insert(rows)
    await sleep(openMs / 2)
    aborted.push(...lost.map(keyOfItem))
    if (ends === 'rollback') {
      aborted.push(...rows.map(keyOfItem))
      return trx.rollback()
    }
    await trx.commit()
    committed.push(...rows.map(keyOfItem))
    if (next() < 0.3) await db.raw("select pg_notify('gatehouse_revocations', 'new')")
  }

  const until = performance.now() + busyMs
  const random = async () => {
    while (performance.now() < until) {
      const kind = next()
      const openMs = next() < 0.2 ? next() * 1_500 : next() * 40
      await insertRows(openMs, 1 + Math.floor(next() * 3), kind < 0.2 ? 'rollback' : kind < 0.4 ? 'nested' : 'commit')
    }
  }
  const inBulk = async () => {
    await sleep(1_000)
    for (let round = 0; round < bulk.transactions; round += 1) await insertRows(0, bulk.rows, 'commit')
    // One transaction with more rows than a page.
    await insertRows(200, 1_500, 'commit')
  }
  await Promise.all([insertRows(busyMs, 1, 'commit'), inBulk(), ...Array.from({ length: writers }, random)])
  await db.destroy()
  return { committed, aborted }
}

const [, , task] = process.argv
if (process.send && process.argv[1] === import.meta.filename && task !== undefined) {
  const written = await write(JSON.parse(task))
  process.send(written, () => process.disconnect())
}
