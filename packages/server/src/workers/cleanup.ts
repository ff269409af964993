import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Knex } from 'knex'
import type { Pool } from '../db/handle.ts'
import { forUpdateOfUnlocked } from '../db/locks.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { inFlight } from '../lib/in-flight.ts'
import { revocationKeepMs } from '../resources/revocations/read-revocations.ts'

const intervalMs = 10 * 60 * 1_000
/** Rows that one transaction deletes: a large backlog may not hold locks, or SQLite's one connection, for long. */
const batchSize = 1_000
/** Sessions whose refresh tokens are deleted together. Few, since each batch looks at all the tokens that they have left. */
const sessionsAtOnce = 20
const dayMs = 86_400_000

type Expired = (row: Knex.QueryBuilder, now: number) => void

interface Rule {
  /** Names the rule in the log. */
  name: string
  /** Deletes a batch of rows that had expired by `now`. False when it found no more. */
  deleteBatch: (deps: Deps<Pool>, now: number) => Promise<boolean>
}

function rulesOf(deps: Deps): Rule[] {
  const { retentionDays, auditRetentionDays, lockoutSeconds } = deps.config
  const kept = retentionDays * dayMs
  const rules = [
    rowsOf('rate_limits', ['key'], (row, now) => row.where('resets_at', '<=', now)),
    rowsOf('lockouts', ['key'], (row, now) =>
      row
        .where('last_failed_at', '<=', now - lockoutSeconds * 1_000)
        .andWhere((lock) => lock.whereNull('locked_until').orWhere('locked_until', '<=', now)),
    ),
    rowsOf('revocations', ['cursor'], (row, now) => row.where('at', '<=', now - revocationKeepMs)),
    rowsOf('consumer_secrets', ['app_id', 'kids'], (row, now) => row.where('last_seen_at', '<=', now - kept)),
    rowsOf('outbox', ['id'], (row, now) => row.where('finished_at', '<=', now - kept)),
    rowsOf('mail_tokens', ['token_hash'], (row, now) => row.where('expires_at', '<=', now - kept)),
    rowsOf('sso_logins', ['state_hash'], (row, now) => row.where('expires_at', '<=', now)),
    rowsOf('refresh_tokens', ['token_hash'], (row, now) => row.where('expires_at', '<=', now - kept)),
    sessionsWithTokens('expired sessions', (row, now) => row.where('expires_at', '<=', now - kept)),
    sessionsWithTokens('ended sessions', (row, now) => row.where('ended_at', '<=', now - kept)),
  ]
  if (auditRetentionDays === undefined) return rules
  return [...rules, rowsOf('audit_events', ['id'], (row, now) => row.where('at', '<=', now - auditRetentionDays * dayMs))]
}

/** A rule for a table that no other table refers to, with its primary key. */
function rowsOf(table: string, key: readonly string[], expired: Expired): Rule {
  return {
    name: table,
    async deleteBatch({ db }, now) {
      const batch = db(table).select(key).limit(batchSize)
      expired(batch, now)
      return (await db(table).whereIn(key, batch).delete()) === batchSize
    },
  }
}

/**
 * A rule for sessions. A session may have thousands of refresh tokens, and the foreign key would delete them all in one statement, so
 * they go first, in batches. The sessions stay locked meanwhile: another server takes other sessions.
 */
function sessionsWithTokens(name: string, expired: Expired): Rule {
  return {
    name,
    deleteBatch: (deps, now) =>
      transaction(deps, async (deps) => {
        const { db } = deps
        const some = db('sessions').limit(sessionsAtOnce)
        expired(some, now)
        const ids: string[] = await forUpdateOfUnlocked(deps.db, some).pluck('id')
        if (ids.length === 0) return false
        const tokens = db('refresh_tokens').select('token_hash').whereIn('session_id', ids).limit(batchSize)
        const deleted = await db('refresh_tokens').whereIn('token_hash', tokens).delete()
        if (deleted < batchSize) await db('sessions').whereIn('id', ids).delete()
        return true
      }),
  }
}

/**
 * Deletes what has expired or outlived AUTH_RETENTION_DAYS; several servers may do so at once. `isStopping` ends it between batches.
 * A rule that fails is logged and stops no other rule.
 */
export async function removeExpired(deps: Deps<Pool>, isStopping: () => boolean = () => false): Promise<void> {
  const now = deps.clock()
  for (const { name, deleteBatch } of rulesOf(deps)) {
    try {
      while (!isStopping() && (await deleteBatch(deps, now))) await nextTurn()
    } catch (error) {
      deps.logger.warn({ err: error, rule: name }, 'cleanup failed; the next run tries again')
    }
  }
}

/** Cleans up now and then, one run at a time; `stop` waits for what is under way. */
export function startCleanup(deps: Deps<Pool>): { stop(): Promise<void> } {
  let isStopping = false
  let running = Promise.resolve()
  const run = inFlight(() => removeExpired(deps, () => isStopping))
  const timer = setInterval(() => {
    running = run()
  }, intervalMs)
  return {
    async stop() {
      isStopping = true
      clearInterval(timer)
      await running
    },
  }
}
