import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import type { Pool } from '../db/handle.ts'
import { isWriteRefusal } from '../db/inspect-connection.ts'
import type { Deps } from '../deps.ts'
import { inFlight } from '../lib/in-flight.ts'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'
import { Server } from '../models/server.ts'
import { describeServer, faultsAmong, serverFaults } from '../resources/system/servers.ts'

const intervalMs = 5_000

/**
 * Writes every few seconds that this server is there, and compares it with the others of the database. Since it writes, `/ready`
 * and the metrics say when the database cannot be written, and when it can again although no load balancer sends anything here.
 * Each server has a row of its own: none waits for the lock of another. A busy database, or one that cannot be reached, says
 * nothing about writes.
 */
export function startHeartbeat(deps: Deps<Pool>, everyMs: number = intervalMs): { id: string; stop(): Promise<void> } {
  const { db, clock, lifecycle, metrics, logger } = deps
  const id = `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`
  const self = describeServer(deps, id, clock())
  let told = ''
  const note = (isWritable: boolean) => {
    lifecycle.isWritable = isWritable
    metrics.databaseWritable.set(isWritable ? 1 : 0)
  }
  note(true)
  const beat = inFlight(async () => {
    try {
      const now = await write()
      if (!lifecycle.isWritable) logger.info('the database can be written again')
      note(true)
      await compare(now)
    } catch (error) {
      if (!isWriteRefusal(error)) {
        if (!(error instanceof DatabaseUnavailableError))
          logger.error({ err: error }, 'the write that is tried every 5 seconds is faulty')
        return
      }
      if (lifecycle.isWritable) logger.error({ err: error }, 'the database refuses writes; trying one every 5 seconds')
      note(false)
    }
  })

  async function write(): Promise<number> {
    const before = clock()
    const seenAt = await Server.readClock(db, before)
    const offset = Math.round((before + clock()) / 2 - seenAt)
    await Server.query(db)
      .insert({ ...self, seen_at: seenAt, clock_offset_ms: offset })
      .onConflict('id')
      .merge()
    return seenAt
  }

  /** Tells each change of what is wrong once. */
  async function compare(now: number): Promise<void> {
    const servers = await Server.listAlive(db, now)
    const faults = faultsAmong(servers)
    metrics.servers.set(servers.length)
    for (const fault of serverFaults) metrics.serverFaults.set({ fault }, faults.filter((each) => each.fault === fault).length)
    const details = faults.map(({ detail }) => detail)
    if (details.join() === told) return
    told = details.join()
    if (details.length > 0) logger.warn({ faults: details }, 'the servers of this database differ; run: authctl doctor')
    else logger.info('the servers of this database no longer differ')
  }

  let running = beat()
  const timer = setInterval(() => {
    running = beat()
  }, everyMs)
  return {
    id,
    async stop() {
      clearInterval(timer)
      await running
      // Without its row, it would count as alive for a minute. If this fails, it does.
      await Server.query(db)
        .deleteById(id)
        .catch(() => {})
    },
  }
}
