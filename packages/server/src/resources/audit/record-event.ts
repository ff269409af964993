import type { Deps } from '../../deps.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { AuditEvent, type AuditEventRow } from '../../models/audit-event.ts'

/** The kinds of audit events. */
export type AuditEventName =
  | 'app.created'
  | 'app.deleted'
  | 'app.updated'
  | 'credentials.removed'
  | 'email.verified'
  | 'grant.created'
  | 'grant.revoked'
  | 'identity.link_failed'
  | 'identity.link_started'
  | 'identity.linked'
  | 'identity.unlinked'
  | 'invitation.accepted'
  | 'invitation.created'
  | 'invitation.deleted'
  | 'login.failed'
  | 'login.success'
  | 'logout'
  | 'logout.all'
  | 'mail.failed'
  | 'membership.created'
  | 'membership.deleted'
  | 'membership.updated'
  | 'organization.created'
  | 'organization.deleted'
  | 'organization.updated'
  | 'override.applied'
  | 'override.refused'
  | 'password.changed'
  | 'password.reset'
  | 'permissions.registered'
  | 'reauthentication.failed'
  | 'role.assigned'
  | 'role.created'
  | 'role.deleted'
  | 'role.unassigned'
  | 'role.updated'
  | 'role_permissions.changed'
  | 'service_account.created'
  | 'service_account.deleted'
  | 'service_account.rotated'
  | 'session.ended'
  | 'sso_provider.created'
  | 'sso_provider.deleted'
  | 'sso_provider.updated'
  | 'token.reuse_detected'
  | 'token.refreshed'
  | 'two_factor.activated'
  | 'two_factor.disabled'
  | 'two_factor.failed'
  | 'two_factor.recovery_code_used'
  | 'two_factor.removed'
  | 'two_factor.set_up'
  | 'user.activated'
  | 'user.created'
  | 'user.deleted'
  | 'user.erased'
  | 'user.imported'
  | 'user.locked'
  | 'user.namespace_changed'
  | 'user.namespaces_changed'
  | 'user.registered'
  | 'user.suspended'
  | 'user.unlocked'
  | 'user.updated'
  | 'webhook.redelivered'
  | 'webhook.tested'

export interface NewAuditEvent {
  event: AuditEventName
  actor: Actor
  /** Whom it is about. */
  userId?: string | null
  appId?: string | null
  /** Why something failed: for the audit alone, the caller may be told less. */
  reason?: string
  /** Before and after of a change, and the like. Never a secret. */
  details?: Record<string, unknown>
}

/** What the service does by itself, at start or from the command line. */
export const systemActor: Actor = { caller: undefined, origin: { ip: '', userAgent: null, requestId: 'system' } }

/** Writes an audit event with `deps`: inside a transaction it stands or falls with it. */
export async function recordEvent(deps: Deps, event: NewAuditEvent): Promise<void> {
  await recordEvents(deps, [event])
}

/** The same for many at once. */
export async function recordEvents(deps: Deps, events: readonly NewAuditEvent[]): Promise<void> {
  await AuditEvent.insert(
    deps.db,
    events.map((event) => rowOf(deps, event)),
  )
}

function rowOf(deps: Deps, { event, actor, userId, appId, reason, details }: NewAuditEvent): AuditEventRow {
  const now = deps.clock()
  const { caller, origin } = actor
  return {
    id: newId(now),
    event,
    reason: reason ?? null,
    audit_reason: origin.auditReason ?? null,
    actor_type: caller?.kind ?? (actor === systemActor ? 'system' : 'anonymous'),
    actor_id: actorIdOf(actor),
    user_id: userId ?? null,
    app_id: appId ?? null,
    ip: origin.ip || null,
    user_agent: origin.userAgent,
    request_id: origin.requestId,
    details: details ? JSON.stringify(details) : null,
    at: now,
  }
}
