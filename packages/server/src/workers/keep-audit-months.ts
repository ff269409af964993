import { areMonthsKept, makeMonths } from '../db/audit-months.ts'
import { isPostgres, type Pool } from '../db/handle.ts'
import { hasOlderListener } from '../db/listen.ts'
import type { Deps } from '../deps.ts'
import { AuditChain } from '../models/audit-chain.ts'

/**
 * Makes the next months of the audit on Postgres, and divides the audit of a former version once its servers are gone: theirs count
 * refusals by an index that a divided table cannot have. They write events without a proof, which has an end.
 */
export async function keepAuditMonths(deps: Deps<Pool>): Promise<void> {
  if (!isPostgres(deps.db)) return
  const now = deps.clock()
  if (await areMonthsKept(deps.db)) return makeMonths(deps.db, now)
  const chain = await AuditChain.findOnly(deps.db)
  if (!chain || now < chain.adopts_until || (await hasOlderListener(deps.db))) return
  const started = performance.now()
  await deps.lifecycle.divideAudit()
  deps.logger.info({ seconds: Math.round((performance.now() - started) / 1_000) }, 'the audit is divided by month')
}
