import type { Pool } from '../db/handle.ts'
import { hasOlderListener, notify } from '../db/notify.ts'
import { transaction } from '../db/transaction.ts'
import type { Deps } from '../deps.ts'
import { Revocation } from '../models/revocation.ts'
import { onDemand } from './on-demand.ts'

/** How long an answer about older servers counts. None can start any more, but one may come back from a broken network. */
const lookEveryMs = 5_000

/**
 * Numbers the revocations of this version while servers of the previous one may be there, which read in the order of numbers. They
 * are seen by their connections for notifications. Where this server has none, as behind PgBouncer, they may have none either.
 * Goes with the next version.
 */
export function numberForOlderServers(deps: Deps<Pool>, isHearing: () => boolean) {
  let lookedAt = Number.NEGATIVE_INFINITY
  let areThere = true
  return onDemand(
    async () => {
      if (isHearing() && performance.now() - lookedAt > lookEveryMs) {
        areThere = await hasOlderListener(deps.db)
        lookedAt = performance.now()
      }
      if ((isHearing() && !areThere) || !(await Revocation.hasUnnumbered(deps.db))) return
      await transaction(deps, async (deps) => Revocation.numberForOlderServers(deps.db))
      await notify(deps.db, 'gatehouse_revocations', 'numbered')
    },
    (error) => deps.logger.warn({ err: error }, 'revocations cannot be numbered for servers of the previous version'),
  )
}
