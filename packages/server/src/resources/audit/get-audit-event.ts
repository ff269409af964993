import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { AuditEvent } from '../../models/audit-event.ts'

/** Throws `not_found`. */
export async function getAuditEvent(deps: Deps, id: string): Promise<AuditEvent> {
  const event = await AuditEvent.findById(deps.db, id)
  if (!event) throw new ApiError('not_found', { detail: 'No audit event has this id' })
  return event
}
