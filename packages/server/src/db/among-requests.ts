import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { codeOf } from '../lib/system-error-code.ts'
import { DatabaseUnavailableError } from '../lib/unavailable.ts'
import { asTx, type Tx } from './handle.ts'

/** Postgres looks for a deadlock after a second. */
const firstLockWaitMs = 300
const pauseMs = 200

/**
 * Runs a transaction that locks tables which requests use. It gives up a wait before Postgres would look for a deadlock and end a
 * request, and tries again. Each try waits longer, so that it comes through among many long requests too. After `mostTries` it
 * throws.
 */
export async function amongRequests<T>(db: Knex, run: (trx: Tx) => Promise<T>, mostTries = Number.POSITIVE_INFINITY): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await db.transaction(async (trx) => {
        await trx.raw(`set local lock_timeout = ${tries * firstLockWaitMs}`)
        return run(asTx(trx))
      })
    } catch (error) {
      if (!isLockConflict(error) || tries >= mostTries) throw error
      await sleep(pauseMs)
    }
  }
}

function isLockConflict(error: unknown): boolean {
  const code = codeOf(error instanceof DatabaseUnavailableError ? error.cause : error) ?? ''
  return ['40P01', '55P03'].includes(code)
}
