import type { Deps } from '../../deps.ts'
import { AuditCheckpoint } from '../../models/audit-checkpoint.ts'
import { AuditEvent } from '../../models/audit-event.ts'

/** Whether a sealed event is still there with this seal, or was deleted by retention. */
export async function isInChain({ db }: Deps, { position, seal }: { position: number; seal: string }): Promise<boolean> {
  const [row] = await AuditEvent.listSealed(db, { from: position, limit: 1 })
  if (row?.seal_position === position && row.seal === seal) return true
  const begin = await AuditCheckpoint.findLast(db)
  return begin !== undefined && (begin.seal_position === position ? begin.seal === seal : begin.seal_position > position)
}
