import type { Deps } from '../../deps.ts'
import { Position } from '../../lib/audit-proof.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { type Place, readBeginning } from './read-beginning.ts'

/** An end of the seals. `batch` is the number of the last batch, 0 if it is a row of the former chain. */
export interface End extends Place {
  batch: number
}

/**
 * Whether an end that was seen before is still part of the seals: the batch is there with this seal, or retention deleted it.
 * `now` is the end now, whose signature was checked.
 */
export async function isInChain(
  deps: Deps,
  { position, seal, batch }: End,
  now: Pick<End, 'position' | 'batch'>,
): Promise<boolean> {
  if (now.position < position || now.batch < batch) return false
  if (await hasSeal(deps, { position, seal, batch })) return true
  const beginning = await readBeginning(deps)
  if (beginning.state !== 'whole') return false
  return beginning.position === position ? beginning.seal === seal : beginning.position > position
}

async function hasSeal({ db }: Deps, { position, seal, batch }: End): Promise<boolean> {
  if (batch > 0) return (await AuditBatch.find(db, batch))?.seal === seal
  const [row] = await AuditEvent.listChained(db, { from: position, limit: 1 })
  return row?.seal_position === position && row.seal === seal && row.xid === Position.former
}
