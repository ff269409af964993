import { SchemaTooNewError } from '../../db/schema-too-new.ts'
import type { Deps } from '../../deps.ts'
import { version } from '../../lib/version.ts'
import type { Health, Readiness } from './schema.ts'

/** Liveness check. Does not touch the database. */
export function checkHealth(): Health {
  return { status: 'ok', version }
}

const fine = { ok: true, detail: null }

/**
 * Whether a load balancer should send requests here: the server is not shutting down, the database answers and accepts writes,
 * and no migration is pending. Only failures that stop every request count. If a mail server or a webhook receiver is down, mail
 * or webhooks wait and the rest is served.
 */
export async function checkReadiness(deps: Deps): Promise<Readiness> {
  const accepting = deps.lifecycle.isStopping ? { ok: false, detail: 'shutting down' } : fine
  let database: Readiness['checks']['database'] = fine
  let migrations: Readiness['checks']['migrations'] = fine
  try {
    const pending = await deps.lifecycle.pendingMigrations()
    if (pending.length > 0) migrations = { ok: false, detail: `pending: ${pending.join(', ')}` }
  } catch (error) {
    deps.logger.warn({ err: error }, 'readiness')
    const isTooNew = error instanceof SchemaTooNewError
    // Only the log gets the reason, since it may name hosts.
    if (!isTooNew) database = { ok: false, detail: 'not reachable' }
    // A running server goes on: during a rolling upgrade most servers are older than the schema for a while.
    migrations = isTooNew ? { ok: true, detail: 'migrated by a newer server' } : { ok: false, detail: 'unknown' }
  }
  const writes = deps.lifecycle.isWritable ? fine : { ok: false, detail: 'failed' }
  const checks = { accepting, database, writes, migrations }
  return { status: Object.values(checks).every((check) => check.ok) ? 'ready' : 'not_ready', checks }
}
