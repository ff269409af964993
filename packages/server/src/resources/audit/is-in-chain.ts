import type { Deps } from '../../deps.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { type Place, readBeginning } from './read-beginning.ts'

/**
 * Whether an end of the chain that was seen before is still part of it: the event is there with this seal, or retention deleted
 * it. `end` is the end now, whose signature was checked.
 */
export async function isInChain(deps: Deps, { position, seal }: Place, end: Place): Promise<boolean> {
  if (end.position < position) return false
  const [row] = await AuditEvent.listSealed(deps.db, { from: position, limit: 1 })
  if (row?.seal_position === position && row.seal === seal) return true
  const beginning = await readBeginning(deps)
  if (beginning.state !== 'whole') return false
  return beginning.position === position ? beginning.seal === seal : beginning.position > position
}
