import { randomUUID } from 'node:crypto'
import { isWriteRefusal } from '../db/classify-error.ts'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { inFlight } from '../lib/in-flight.ts'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'
import { RateLimit } from '../models/rate-limit.ts'

const intervalMs = 5_000
/** How long the row that it writes outlives the process. */
const rowLifeMs = 60_000
/** More than the row counts in its life. At this number it would not be written any more. */
const mostWrites = 1_000_000

/**
 * Tries a write every few seconds, so that `/ready` and the metrics say when the database cannot be written, and when it can again
 * although no load balancer sends anything here. Each server has a row of its own: none waits for the lock of another. A busy
 * database, or one that cannot be reached, says nothing about writes.
 */
export function startWriteProbe(
  { db, clock, lifecycle, metrics, logger }: Deps<Pool>,
  everyMs: number = intervalMs,
): { stop(): Promise<void> } {
  const key = `write-probe:${randomUUID()}`
  const note = (isWritable: boolean) => {
    lifecycle.isWritable = isWritable
    metrics.databaseWritable.set(isWritable ? 1 : 0)
  }
  note(true)
  const tryWrite = inFlight(async () => {
    const now = clock()
    try {
      await RateLimit.take(db, { key, now, resetsAt: now + rowLifeMs, most: mostWrites })
      if (!lifecycle.isWritable) logger.info('the database can be written again')
      note(true)
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
  let running = tryWrite()
  const timer = setInterval(() => {
    running = tryWrite()
  }, everyMs)
  return {
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}
