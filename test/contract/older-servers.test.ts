// Servers of the previous version read revocations in the order of numbers. Servers of this one write them in none.
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, inject, onTestFinished, test } from 'vitest'
import { asTx, type Pool } from '../../packages/server/src/db/handle.ts'
import { createKnex } from '../../packages/server/src/db/knex.ts'
import { DatabaseUnavailableError } from '../../packages/server/src/lib/unavailable.ts'
import { Revocation } from '../../packages/server/src/models/revocation.ts'
import { numberUnsettled } from '../../packages/server/src/workers/older-servers.ts'
import { atOnce, chance } from '../support/chance.ts'
import { createDatabase } from '../support/database.ts'
import { testDatabase } from '../support/service.ts'

const busyMs = 4_000
const oldLock = 7_001

const onPostgres = test.runIf(testDatabase() === 'postgres')

async function connect(): Promise<Pool> {
  const database = await createDatabase('postgres', inject('templates'))
  onTestFinished(() => database.drop())
  const db = createKnex({ databaseUrl: database.url, dbPoolMax: 24 })
  onTestFinished(() => db.destroy())
  return db
}

const row = () => ({ user_id: randomUUID(), min_tv: 1, at: Date.now() })

/** Statements of several servers can lock the same rows in another order. Postgres then ends one, and its server tries again. */
const unlessEnded = (error: unknown) => {
  if (!(error instanceof DatabaseUnavailableError)) throw error
  return false
}

onPostgres.each([1, 2, 3])(
  'no server of the previous version misses a revocation while several number them, some slow or dying (seed %i)',
  async (seed) => {
    const db = await connect()
    const { next, soon } = chance(seed)
    const committed: string[] = []
    const until = performance.now() + busyMs
    const isBusy = () => performance.now() < until
    const unnumbered = () => ({ ...row(), cursor: db.raw("-nextval('revocations_cursor_seq')") })

    const write = async (rows: ReturnType<typeof row>[], openMs: number, isOld: boolean) => {
      const trx = await db.transaction()
      if (isOld) await trx.raw('select pg_advisory_xact_lock(?)', [oldLock])
      await trx('revocations').insert(rows)
      if (openMs > 0) await sleep(openMs)
      if (next() < 0.1) return trx.rollback()
      await trx.commit()
      committed.push(...rows.map(({ user_id }) => user_id))
    }
    const oldWriter = async () => {
      while (isBusy()) await soon(15, () => write([row()], next() < 0.3 ? next() * 30 : 0, true))
    }
    const newWriter = async () => {
      while (isBusy()) await soon(15, () => write([unnumbered(), unnumbered()], next() < 0.1 ? next() * 500 : 0, false))
    }

    let isOver = false
    const worker = async () => {
      while (!isOver) if (!(await numberUnsettled(db).catch(unlessEnded))) await sleep(next() * 10)
    }
    const dyingWorker = async () => {
      while (isBusy()) {
        await soon(30, () => Revocation.numberOthers(db).catch(unlessEnded))
        await soon(30, () => Revocation.settleTopmost(db).catch(unlessEnded))
      }
    }
    // Its numbers become visible late.
    const slowWorker = async () => {
      while (isBusy()) {
        const slowly = db.transaction(async (trx) => {
          await Revocation.numberOthers(asTx(trx))
          await sleep(next() * 40)
        })
        await slowly.catch(unlessEnded)
        await sleep(next() * 100)
      }
    }

    const heard = Array.from({ length: 6 }, () => new Map<string, number>())
    const reader = async (heard: Map<string, number>, isPolling: boolean) => {
      let head = 0
      for (let isLast = false; !isLast; ) {
        isLast = isOver
        const rows = db('revocations').where('cursor', '>', head).orderBy('cursor')
        let newest: number | undefined
        // A page of the feed goes up to what was the highest number before.
        if (isPolling) {
          newest = Number((await db('revocations').max('cursor as newest'))[0]?.newest ?? 0)
          await sleep(next() * 5)
          rows.where('cursor', '<=', newest)
        }
        // At the end a reader goes through all that is left.
        const read = await rows.limit(isLast ? 1_000_000 : 8)
        for (const { user_id } of read) heard.set(user_id, (heard.get(user_id) ?? 0) + 1)
        head = Math.max(head, (read.length < 8 ? newest : undefined) ?? 0, read.at(-1)?.cursor ?? 0)
        if (read.length === 0) await sleep(next() * 3)
      }
    }
    const readers = heard.map((heard, index) => reader(heard, index % 2 === 0))
    const workers = atOnce(3, worker)
    await Promise.all([atOnce(3, oldWriter), atOnce(3, newWriter), dyingWorker(), slowWorker()])
    await expect.poll(() => Revocation.hasUnsettled(db)).toBe(false)
    isOver = true
    await Promise.all([...readers, workers])
    expect(committed.length).toBeGreaterThan(100)
    expect(heard.map((heard) => committed.filter((id) => !heard.has(id)).length)).toEqual(heard.map(() => 0))
    // What is settled keeps its number, so that repeats end.
    for (const { size } of heard) expect(size).toBe(committed.length)
  },
)

onPostgres('a row is not settled if it is renumbered while the statement that saw it on top waits', async () => {
  const db = await connect()
  const { user_id } = row()
  await db('revocations').insert({ ...row(), user_id })
  const renumbering = await db.transaction()
  await renumbering('revocations').update({ cursor: db.raw("nextval('revocations_cursor_seq')") })
  const settling = Revocation.settleTopmost(db)
  const waiting = () => db('pg_stat_activity').where({ wait_event_type: 'Lock', datname: db.raw('current_database()') })
  await expect.poll(waiting).toHaveLength(1)
  await db('revocations').insert(row())
  await renumbering.commit()
  await settling
  expect(await db('revocations').where({ user_id }).pluck('settled')).toEqual([0])
})
