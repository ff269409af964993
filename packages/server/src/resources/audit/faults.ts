import type { Deps } from '../../deps.ts'
import type { AuditEventName } from '../../lib/audit-events.ts'
import { endOf, isAdopted, type ProofState, type StoredEvent } from '../../lib/audit-proof.ts'
import { recordIn } from '../../lib/collections.ts'
import { isUuid } from '../../lib/uuid.ts'
import type { Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { checkHead } from './chain.ts'
import type { AuditFault } from './present.ts'

export function kindOf(verdict: ProofState): AuditFault['kind'] | null {
  if (verdict === 'whole') return null
  if (verdict === 'unknown key') return 'unknown_key'
  return verdict === 'unproven' ? 'inserted' : 'changed'
}

export function faultOf(event: StoredEvent, verdict: ProofState, batch: number | null = null): AuditFault | null {
  const kind = kindOf(verdict)
  return kind && { kind, subject: 'event', position: event.seal_position, batch, event }
}

export function removedAt(position: number, batch: number | null = null): AuditFault {
  return { kind: 'removed', subject: 'event', position, batch, event: null }
}

export function faultOfHead(deps: Deps, chain: Chain | undefined): AuditFault | null {
  const kind = kindOf(chain ? checkHead(deps, chain) : 'whole')
  return chain && kind ? changedHead(endOf(chain).position, kind) : null
}

export function changedHead(position: number | null, kind: AuditFault['kind'] = 'changed'): AuditFault {
  return { kind, subject: 'head', position, batch: null, event: null }
}

/** For each `audit.erased` event that erased one of the rows, the ids of the events that it lists. */
export async function listErased({ db }: Deps, rows: readonly StoredEvent[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const ids = new Set(rows.map((row) => row.erased_by).filter((id) => id !== null))
  const events = await AuditEvent.listByIds(db, [...ids])
  return new Map(events.filter(isErasure).map(({ id, details }) => [id, new Set(erasedIn(details))]))
}

/**
 * An erased row must be listed by the event that erased it, and a listed row must still be erased: an attacker cannot put back
 * its content.
 */
export async function faultOfErasure(
  { db }: Deps,
  row: StoredEvent,
  listed: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<AuditFault | null> {
  if (row.erased_by !== null && !listed.get(row.erased_by)?.has(row.id)) return faultOf(row, 'changed')
  const unerased = isErasure(row) && !isAdopted(row) ? await AuditEvent.findUnerased(db, erasedIn(row.details)) : undefined
  return unerased ? faultOf(unerased, 'changed') : null
}

function isErasure({ event }: { event: string }): boolean {
  return event === ('audit.erased' satisfies AuditEventName)
}

/** The ids of the events that were marked as erased. */
function erasedIn(details: string | null): string[] {
  const { events } = recordIn(details ?? '')
  return Array.isArray(events) ? events.filter((id) => typeof id === 'string' && isUuid(id)) : []
}
