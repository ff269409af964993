import type { Pool } from '../db/handle.ts'
import { hasOlderListener, notify } from '../db/listen.ts'
import type { Deps } from '../deps.ts'
import { Revocation } from '../models/revocation.ts'
import { type Wakeable, wakeable } from './wakeable.ts'

/** How long an answer about older servers counts. None can start any more, but one may come back from a broken network. */
const lookEveryMs = 5_000

/**
 * Numbers revocations while servers of the previous version may be there. They are seen by their connections for notifications.
 * Where this server has none, as behind PgBouncer, they may have none either. Goes with the next version.
 *
 * Such a server keeps the highest number that it has read, and reads what is above it. So it can miss a row only if a higher number
 * was visible before the row's own. Rows of this version are written with negative numbers, and those of older servers with a
 * number from before their commit. A row counts as settled once one statement saw no higher number of another transaction: then
 * none was visible when the row's became so, because numbers of one transaction appear together, no number falls, and rows are
 * kept for an hour. All rows that are not settled get new numbers, again and again. An old server may hear of one twice, which does
 * no harm: minimums only rise.
 *
 * What is settled stands in the row, and a row is settled only for the number that the statement saw. So several servers can do
 * this at once, in single statements, and what one that died has left is done by the others. The one with the highest number always
 * succeeds. A long transaction's rows are not settled when they appear.
 */
export function numberForOlderServers(deps: Deps<Pool>, isHearing: () => boolean): Wakeable {
  let lookedAt = Number.NEGATIVE_INFINITY
  let areThere = true
  const numbering = wakeable(
    async () => {
      if (isHearing() && performance.now() - lookedAt > lookEveryMs) {
        areThere = await hasOlderListener(deps.db)
        lookedAt = performance.now()
      }
      if (isHearing() && !areThere) return
      if (await numberUnsettled(deps.db)) numbering.wake()
    },
    (error) => deps.logger.warn({ err: error }, 'revocations cannot be numbered for servers of the previous version'),
  )
  return numbering
}

/** Goes one step, and returns whether there was anything to do. Rows numbered in one step are settled in the next. */
export async function numberUnsettled(db: Pool): Promise<boolean> {
  if (!(await Revocation.hasUnsettled(db))) return false
  await Revocation.settleTopmost(db)
  await Revocation.numberOthers(db)
  await notify(db, 'gatehouse_revocations', 'numbered')
  return true
}
