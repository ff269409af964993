import type { Deps } from '../../deps.ts'
import { AuditCheckpoint } from '../../models/audit-checkpoint.ts'
import { AuditEvent } from '../../models/audit-event.ts'

/** Whether an event that was sealed is still there with its seal, or retention has deleted it. */
export async function isInChain({ db }: Deps, { position, seal }: { position: number; seal: string }): Promise<boolean> {
  const [row] = await AuditEvent.listSealed(db, { from: position, limit: 1 })
  if (row?.seal_position === position && row.seal === seal) return true
  const begin = await AuditCheckpoint.findLast(db)
  return begin !== undefined && (begin.seal_position === position ? begin.seal === seal : begin.seal_position > position)
}
