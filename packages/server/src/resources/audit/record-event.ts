import { createHash } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import type { AuditEventName } from '../../lib/audit-events.ts'
import type { AuditProof } from '../../lib/audit-proof.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { AuditEvent, type AuditEventRow } from '../../models/audit-event.ts'

export interface NewAuditEvent {
  event: AuditEventName
  actor: Actor
  /** The user whom the event is about. */
  userId?: string | null
  appId?: string | null
  /** Why something failed. Only for the audit: the caller may see less. */
  reason?: string
  /** The address of a refused login that is about no user. */
  email?: string
  /** Before and after of a change, and the like. Never a secret. */
  details?: Record<string, unknown>
}

/** How many rows one counted event may have in a minute, of which all but the last are sealed. */
const mostCounts = 20

/** The actor for what the service does without a caller: at start, in a worker or from the command line. */
export const systemActor: Actor = { caller: undefined, origin: { ip: '', userAgent: null, requestId: 'system' } }

/** Writes an audit event. An event written inside a transaction commits or rolls back with it. */
export async function recordEvent(deps: Deps, event: NewAuditEvent): Promise<void> {
  await recordEvents(deps, [event])
}

/** Like `recordEvent`, and returns the id of the event. */
export async function recordNamedEvent(deps: Deps, event: NewAuditEvent): Promise<string> {
  const row = eventRow(deps, event)
  await AuditEvent.insert(deps.db, [row])
  return row.id
}

/** Like `recordEvent`, for many events at once. */
export async function recordEvents(deps: Deps, events: readonly NewAuditEvent[]): Promise<void> {
  await AuditEvent.insert(
    deps.db,
    events.map((event) => eventRow(deps, event)),
  )
}

/**
 * Writes an event, or adds to the count of an event with the same key in the same minute. This keeps requests that cost the
 * caller nothing from filling the table.
 */
export async function countEvent(deps: Deps, event: NewAuditEvent, key: readonly string[]): Promise<void> {
  const minute = Math.floor(deps.clock() / 60_000)
  let countedBy = createHash('sha256')
    .update(JSON.stringify([event.event, minute, ...key]))
    .digest('base64url')
  // A server whose clock lags may find the row already sealed. It then counts in the next row.
  for (let tries = 0; tries < mostCounts; tries += 1) {
    if (await AuditEvent.insertOrCount(deps.db, eventRow(deps, event, countedBy), countedBy)) return
    countedBy = createHash('sha256').update(countedBy).digest('base64url')
  }
  await AuditEvent.insert(deps.db, [eventRow(deps, event)])
}

/** The row of an event, for a statement that writes it together with what it is about. */
export function eventRow(
  deps: Deps,
  { event, actor, userId, appId, reason, email, details }: NewAuditEvent,
  countedBy: string | null = null,
): AuditEventRow {
  const now = deps.clock()
  const { caller, origin } = actor
  const facts: Omit<AuditEventRow, keyof AuditProof> = {
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
    email: email ?? null,
    at: now,
  }
  return { ...facts, ...deps.auditProofs.prove({ ...facts, count: 1, counted_by: countedBy }) }
}
