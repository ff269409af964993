import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { StoredEvent } from '../../lib/audit-proof.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import type { Expired } from '../../models/base-model.ts'
import { keysOfChain } from './keys-of-chain.ts'
import { readBeginning, recordBeginning } from './read-beginning.ts'

/**
 * Deletes a batch of the events that are as old as `until`, and returns how many. Sealed events go from the beginning of the
 * chain, and a checkpoint records where the chain now begins. A row that was tampered with is deleted together with the next
 * intact row: setting back the time of events does not get them deleted.
 */
export async function expireEvents(deps: Deps<Tx>, expired: Expired): Promise<number> {
  const { db } = deps
  const unsealed = await AuditEvent.deleteUnsealedExpired(db, expired)
  const chain = unsealed === expired.limit ? undefined : await AuditChain.findForUpdate(db)
  if (!chain) return unsealed
  keysOfChain(deps, chain)
  const beginning = await readBeginning(deps)
  if (beginning.state !== 'whole')
    throw new Error('the beginning of the audit chain is not what was written; run audit verify for details')
  const rows = await AuditEvent.listSealed(db, { from: beginning.position + 1, limit: expired.limit - unsealed })
  const last = lastExpired(deps, rows, beginning.seal, expired.until)
  if (!last || last.seal_position === null || last.seal === null) return unsealed
  await recordBeginning(deps, { position: last.seal_position, seal: last.seal })
  return unsealed + (await AuditEvent.deleteSealed(db, last.seal_position))
}

/** The last intact row that has expired, before the first intact row that has not. */
function lastExpired({ auditProofs }: Deps, rows: readonly StoredEvent[], begin: string, until: number): StoredEvent | undefined {
  let last: StoredEvent | undefined
  let previous = begin
  for (const row of rows) {
    const isWhole = auditProofs.checkSealed(row, previous) === 'whole'
    if (isWhole && row.at > until) return last
    if (isWhole) last = row
    previous = row.seal ?? ''
  }
  return last
}
