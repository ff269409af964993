import type { z } from 'zod'
import { endOf, type StoredEvent } from '../../lib/audit-proof.ts'
import { formerCheckOf } from '../../lib/former-audit-check.ts'
import { present } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import type { Chain } from '../../models/audit-chain.ts'
import type { AuditEvent } from '../../models/audit-event.ts'
import { auditRecord, type auditVerification } from './schema.ts'

/** The current names of the users, apps and service accounts that events refer to by id. Deleted ones have no name. */
export interface NamesById {
  users: ReadonlyMap<string, string>
  apps: ReadonlyMap<string, string>
  serviceAccounts: ReadonlyMap<string, string>
}

export interface AuditFault {
  kind: 'changed' | 'removed' | 'inserted' | 'unknown_key'
  subject: 'event' | 'batch' | 'head' | 'checkpoint'
  position: number | null
  /** The number of the batch; null outside of batches. */
  batch: number | null
  event: StoredEvent | null
}

export interface VerifiedPage {
  checked: number
  adopted: number
  unsealed: number
  fault: AuditFault | null
  chain: Chain | undefined
  next_cursor: string | null
}

export function presentAuditEvent(event: AuditEvent, names: NamesById): z.output<typeof auditRecord> {
  const { actor_type: type, actor_id: id } = event
  return present(auditRecord, {
    ...event,
    actor: { type, id },
    names: {
      actor: nameIn(type === 'service_account' ? names.serviceAccounts : names.users, id),
      user: nameIn(names.users, event.user_id),
      app: nameIn(names.apps, event.app_id),
    },
  })
}

export function presentVerification({ chain, fault, ...page }: VerifiedPage): z.output<typeof auditVerification> {
  const head = chain && {
    ...endOf(chain),
    batch: chain.batch,
    sealed_at: iso(isTime(chain.sealed_at) ? chain.sealed_at : 0),
    began_at: iso(isTime(chain.began_at) ? chain.began_at : 0),
  }
  return { ...page, head: head ?? null, former: presentFormer(chain), fault: fault && presentFault(fault) }
}

export function presentFault({ kind, subject, position, batch, event }: AuditFault) {
  const at = event && isTime(event.at) ? iso(event.at) : null
  return { kind, subject, position: numberIn(position), batch, event_id: textIn(event?.id), event: textIn(event?.event), at }
}

/** SQLite stores values of any type in a column, and somebody may have put one there. */
function isTime(value: number): boolean {
  return typeof value === 'number' && Math.abs(value) <= 8.64e15
}

function numberIn(value: number | null): number | null {
  return typeof value === 'number' ? value : null
}

function textIn(value: string | undefined): string | null {
  return value === undefined ? null : String(value)
}

function presentFormer(chain: Chain | undefined) {
  const check = formerCheckOf(chain)
  if (!check) return null
  const { position, checked, isClosed, faults } = check
  return { position, checked, closed: isClosed, faults: faults.count, first_fault: faults.first[0] ?? null }
}

function nameIn(names: ReadonlyMap<string, string>, id: string | null): string | null {
  return (id === null ? undefined : names.get(id)) ?? null
}
