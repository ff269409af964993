import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { PersonalFacts, StoredEvent } from '../../lib/audit-proof.ts'
import type { Actor } from '../../lib/caller.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent, type Erasable } from '../../models/audit-event.ts'
import { keysOfChain } from './keys-of-chain.ts'
import { recordNamedEvent, systemActor } from './record-event.ts'

/** So many rows are read and written at a time: others get the connection in between. */
const portion = 100

interface Blanking {
  userId: string
  actor: Actor
  erasable: Erasable
  /** What is left of a row. */
  blank: (row: StoredEvent) => Partial<PersonalFacts>
}

/**
 * Takes personal facts out of events, with the salts that would let somebody guess them, and lists the events in one of its own. It reads
 * and blanks a portion at a time under its locks: what somebody else has blanked meanwhile stays so. They are taken in the order of the
 * ids, or two callers could wait for each other.
 */
export async function blankEvents(deps: Deps<Pool>, { userId, actor, erasable, blank }: Blanking): Promise<void> {
  const chain = await AuditChain.find(deps.db)
  if (chain) keysOfChain(deps, chain)
  // Why it was asked for stands in `user.erased`.
  const by = actor === systemActor ? actor : { ...actor, origin: { ...actor.origin, auditReason: undefined } }
  let events: StoredEvent[] = []
  do {
    const after = events.at(-1)?.id
    events = await transaction(deps, async (deps) => {
      const rows = await AuditEvent.listErasableForUpdate(deps.db, erasable, { after, limit: portion })
      const changed = rows.flatMap((row) => {
        const left = { ...row, ...blank(row) }
        const isSame = left.details === row.details && left.email === row.email && left.audit_reason === row.audit_reason
        return isSame ? [] : [{ left, verdict: deps.auditProofs.check(row) }]
      })
      if (changed.length === 0) return rows
      const idsOf = (isSealed: boolean) =>
        changed.filter(({ left }) => (left.seal_position !== null) === isSealed).map(({ left }) => left.id)
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
