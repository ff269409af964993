import type { z } from 'zod'
import { iso } from '../../lib/timestamps.ts'
import type { AuditEvent } from '../../models/audit-event.ts'
import type { auditRecord } from './schema.ts'

/** What people call those that events name by id, as they are called now. What is gone has no name. */
export interface Names {
  users: ReadonlyMap<string, string>
  apps: ReadonlyMap<string, string>
  serviceAccounts: ReadonlyMap<string, string>
}

export function presentAuditEvent(event: AuditEvent, names: Names): z.output<typeof auditRecord> {
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
    names: {
      actor: nameIn(event.actor_type === 'service_account' ? names.serviceAccounts : names.users, event.actor_id),
      user: nameIn(names.users, event.user_id),
      app: nameIn(names.apps, event.app_id),
    },
  }
}

function nameIn(names: ReadonlyMap<string, string>, id: string | null): string | null {
  return (id === null ? undefined : names.get(id)) ?? null
}
