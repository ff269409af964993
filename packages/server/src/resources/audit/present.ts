import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { AuditEvent } from '../../models/audit-event.ts'
import type { auditRecord } from './schema.ts'

export function presentAuditEvent(event: AuditEvent): z.output<typeof auditRecord> {
  return {
    id: event.id,
    event: event.event,
    at: iso(event.at),
    reason: event.reason,
    audit_reason: event.audit_reason,
    actor: { type: event.actor_type, id: event.actor_id },
    user_id: event.user_id,
    app_id: event.app_id,
    ip: event.ip,
    user_agent: event.user_agent,
    request_id: event.request_id,
    count: event.count,
    details: event.details,
  }
}
