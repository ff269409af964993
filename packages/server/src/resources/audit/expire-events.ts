import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditCheckpoint } from '../../models/audit-checkpoint.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import type { Expired } from '../../models/base-model.ts'
import { checkpointFacts } from './keys-of-chain.ts'

/**
 * Deletes a batch of the events that are as old as `until`, and says how many. Of the sealed ones it takes them from the beginning of the
 * chain, and writes down where the chain begins now.
 */
export async function expireEvents(deps: Deps<Tx>, expired: Expired): Promise<number> {
  const { db, auditProofs } = deps
  const unsealed = await AuditEvent.deleteUnsealedExpired(db, expired)
  if (unsealed === expired.limit || !(await AuditChain.findForUpdate(db))) return unsealed
  const begin = (await AuditCheckpoint.findLast(db))?.seal_position ?? 0
  const rows = await AuditEvent.listSealed(db, { from: begin + 1, limit: expired.limit - unsealed })
  const firstKept = rows.findIndex(({ at }) => at > expired.until)
  const last = (firstKept === -1 ? rows : rows.slice(0, firstKept)).at(-1)
  if (!last || last.seal_position === null || last.seal === null) return unsealed
  const checkpoint = { seal_position: last.seal_position, seal: last.seal }
  const signature = auditProofs.sign(checkpointFacts(checkpoint))
  await AuditCheckpoint.set(db, { ...checkpoint, signature, created_at: deps.clock() })
  return unsealed + (await AuditEvent.deleteSealed(db, last.seal_position))
}
