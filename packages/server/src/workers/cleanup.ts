import type { Knex } from 'knex'
import type { Deps } from '../deps.ts'
import { revocationKeepMs } from '../resources/revocations/read-revocations.ts'

const intervalMs = 10 * 60 * 1_000
/** Rows per statement: a large backlog may not hold locks, or SQLite's one connection, for long. */
const batchSize = 500
const dayMs = 86_400_000

interface Rule {
  table: string
  key: string
  expired: (row: Knex.QueryBuilder, now: number) => void
}

function rulesOf(deps: Deps): Rule[] {
  const { retentionDays, auditRetentionDays, lockoutSeconds } = deps.config
  const kept = retentionDays * dayMs
  const rules: Rule[] = [
    { table: 'rate_limits', key: 'key', expired: (row, now) => row.where('resets_at', '<=', now) },
    {
      table: 'lockouts',
      key: 'key',
      expired: (row, now) =>
        row
          .where('last_failed_at', '<=', now - lockoutSeconds * 1_000)
          .andWhere((lock) => lock.whereNull('locked_until').orWhere('locked_until', '<=', now)),
    },
    { table: 'revocations', key: 'cursor', expired: (row, now) => row.where('at', '<=', now - revocationKeepMs) },
    { table: 'consumer_secrets', key: 'last_seen_at', expired: (row, now) => row.where('last_seen_at', '<=', now - kept) },
    { table: 'outbox', key: 'id', expired: (row, now) => row.where('finished_at', '<=', now - kept) },
    { table: 'mail_tokens', key: 'token_hash', expired: (row, now) => row.where('expires_at', '<=', now - kept) },
    { table: 'sso_logins', key: 'state_hash', expired: (row, now) => row.where('expires_at', '<=', now) },
    { table: 'refresh_tokens', key: 'token_hash', expired: (row, now) => row.where('expires_at', '<=', now - kept) },
    { table: 'sessions', key: 'id', expired: (row, now) => row.where('expires_at', '<=', now - kept) },
    { table: 'sessions', key: 'id', expired: (row, now) => row.where('ended_at', '<=', now - kept) },
  ]
  if (auditRetentionDays !== undefined) {
    rules.push({
      table: 'audit_events',
      key: 'id',
      expired: (row, now) => row.where('at', '<=', now - auditRetentionDays * dayMs),
    })
  }
  return rules
}

/** Deletes what has expired or outlived AUTH_RETENTION_DAYS; several servers may do so at once. `isStopping` ends it between batches. */
export async function removeExpired(deps: Deps, isStopping: () => boolean = () => false): Promise<void> {
  const now = deps.clock()
  for (const { table, key, expired } of rulesOf(deps)) {
    let deleted = batchSize
    while (deleted === batchSize && !isStopping()) {
      const batch = deps.db(table).select(key).limit(batchSize)
      expired(batch, now)
      deleted = await deps.db(table).whereIn(key, batch).delete()
    }
  }
}

/** Cleans up now and then; `stop` waits for what is under way. */
export function startCleanup(deps: Deps): { stop(): Promise<void> } {
  let isStopping = false
  let running = Promise.resolve()
  const run = () => {
    running = removeExpired(deps, () => isStopping).catch((error) => deps.logger.warn({ err: error }, 'cleanup failed'))
  }
  const timer = setInterval(run, intervalMs)
  return {
    async stop() {
      isStopping = true
      clearInterval(timer)
      await running
    },
  }
}
