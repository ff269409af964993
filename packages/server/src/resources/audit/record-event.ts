import { hash } from 'node:crypto'
import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { AuditEventName } from '../../lib/audit-events.ts'
import type { AuditProof } from '../../lib/audit-proof.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { idFrom, newId } from '../../lib/uuid.ts'
import { AuditEvent, type AuditEventRow } from '../../models/audit-event.ts'
import { RateLimit } from '../../models/rate-limit.ts'

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
const countedMs = 60_000

/** The actor for what the service does without a caller: at start, in a worker or from the command line. */
export const systemActor: Actor = { caller: undefined, origin: { ip: '', userAgent: null, requestId: 'system' } }

/** Writes an audit event. An event written inside a transaction commits or rolls back with it. */
export async function recordEvent(deps: Deps, event: NewAuditEvent): Promise<void> {
  await recordEvents(deps, [event])
}

/** Like `recordEvent`, and returns the id of the event. */
export async function recordNamedEvent(deps: Deps, event: NewAuditEvent): Promise<string> {
  const row = eventRow(deps, event)
  await AuditEvent.append(deps.db, [row])
  return row.id
}

/** Like `recordEvent`, for many events at once. */
export async function recordEvents(deps: Deps, events: readonly NewAuditEvent[]): Promise<void> {
  await AuditEvent.append(
    deps.db,
    events.map((event) => eventRow(deps, event)),
  )
}

/**
 * Writes an event, or adds to the count of an event with the same key in the same minute. This keeps requests that cost the
 * caller nothing from filling the table.
 */
export async function countEvent(deps: Deps<Pool>, event: NewAuditEvent, key: readonly string[]): Promise<void> {
  const now = deps.clock()
  const kind = JSON.stringify([event.event, ...key])
  const window = { key: `counted:${sha256(kind).toString('base64url')}`, now, resetsAt: now + countedMs, most: 2 ** 31 - 1 }
  const { resets_at: over } = (await RateLimit.take(deps.db, window)) ?? { resets_at: window.resetsAt }
  // The id of the event stands for the key and the minute, and begins with the time of the first.
  const at = over - countedMs
  let digest = sha256(JSON.stringify([kind, at]))
  // A server whose clock lags may find the row already sealed. It then counts in the next row.
  for (let tries = 0; tries < mostCounts; tries += 1) {
    const counted = { at, id: idFrom(at, digest), by: digest.toString('base64url') }
    if (await AuditEvent.insertOrCount(deps.db, eventRow(deps, event, counted), counted.by)) return
    digest = sha256(digest)
  }
  await AuditEvent.append(deps.db, [eventRow(deps, event)])
}

function sha256(of: string | Buffer): Buffer {
  return hash('sha256', of, 'buffer')
}

/** The row of an event, for a statement that writes it together with what it is about. */
export function eventRow(
  deps: Deps,
  { event, actor, userId, appId, reason, email, details }: NewAuditEvent,
  counted?: { id: string; by: string; at: number },
): AuditEventRow {
  const now = counted?.at ?? deps.clock()
  const { caller, origin } = actor
  const facts: Omit<AuditEventRow, keyof AuditProof> = {
    id: counted?.id ?? newId(now),
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
  return { ...facts, ...deps.auditProofs.prove({ ...facts, count: 1, counted_by: counted?.by ?? null }) }
}
