import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { isCounting, type PersonalFacts, Position, type StoredEvent } from '../../lib/audit-proof.ts'
import type { Actor } from '../../lib/caller.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent, type Erasable } from '../../models/audit-event.ts'
import { keysOfChain } from './keys-of-chain.ts'
import { recordNamedEvent, systemActor } from './record-event.ts'

/** Rows per transaction. Other requests get the connection in between. */
const portion = 100

interface Blanking {
  userId: string
  actor: Actor
  erasable: Erasable
  /** The personal facts to write in place of those of the row. */
  blank: (row: StoredEvent) => Partial<PersonalFacts>
}

/**
 * Removes personal facts from events, along with the salts that would let an attacker guess them, and records an `audit.erased`
 * event that lists the events. It reads and blanks a portion at a time under locks, so what another request has blanked meanwhile
 * stays blank. It takes the events in the order of their ids, so that two callers cannot deadlock.
 */
export async function blankEvents(deps: Deps<Pool>, { userId, actor, erasable, blank }: Blanking): Promise<void> {
  const chain = await AuditChain.find(deps.db)
  if (chain) keysOfChain(deps, chain)
  // Leave out the audit reason: `user.erased` records it.
  const by = actor === systemActor ? actor : { ...actor, origin: { ...actor.origin, auditReason: undefined } }
  let events: StoredEvent[] = []
  do {
    const after = events.at(-1)
    events = await transaction(deps, async (deps) => {
      const rows = await AuditEvent.listErasableForUpdate(deps.db, erasable, { after, limit: portion })
      const changed = rows.flatMap((row) => {
        const left = { ...row, ...blank(row) }
        const isSame = left.details === row.details && left.email === row.email && left.audit_reason === row.audit_reason
        return isSame ? [] : [{ left, verdict: deps.auditProofs.check(row, isPlaced(row)) }]
      })
      if (changed.length === 0) return rows
      const keepsMac = ({ left, verdict }: (typeof changed)[number]) => verdict === 'whole' && !isCounting(left)
      const idsOf = (isMarked: boolean) => changed.filter((each) => keepsMac(each) === isMarked).map(({ left }) => left.id)
      const details = { events: idsOf(true), unsealed: idsOf(false) }
      const erasedBy = await recordNamedEvent(deps, { event: 'audit.erased', actor: by, userId, details })
      const blanked = changed.map(({ left, verdict }) => ({ ...left, ...deps.auditProofs.erase(left, verdict, erasedBy) }))
      await AuditEvent.rewrite(deps.db, blanked, [
        ...(['details', 'email', 'audit_reason'] as const),
        ...(['salt', 'personal_digest', 'mac', 'erased_by', 'erased_mac'] as const),
      ])
      return rows
    })
  } while (events.length === portion)
}

/** Whether it may be sealed. A row that still counts is not, nor one from before batches without a place in the former chain. */
function isPlaced(row: StoredEvent): boolean {
  return row.xid === Position.former ? row.seal_position !== null : !isCounting(row)
}
