import type { Deps } from '../../deps.ts'
import { isAdopted, Position, type StoredEvent } from '../../lib/audit-proof.ts'
import type { Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { changedHead, faultOf, faultOfErasure, listErased, removedAt } from './faults.ts'
import type { AuditFault, VerifiedPage } from './present.ts'
import type { Beginning, Place } from './read-beginning.ts'

const pageSize = 1_000

/** Compares the next rows of the chain of rows that former versions wrote. Nothing is added to it once it is closed. */
export async function verifyChain(
  deps: Deps,
  chain: Chain,
  beginning: Beginning,
  { from, known }: { from: number; known: Place | undefined },
): Promise<VerifiedPage> {
  const page: VerifiedPage = { checked: 0, adopted: 0, unsealed: 0, fault: null, chain, next_cursor: null }
  const found = await AuditEvent.listChained(deps.db, { from, limit: pageSize + 1 })
  const rows = found.length > pageSize ? wholePlaces(found) : found
  const begin = Math.max(from, beginning.position)
  const beginSeal = begin === beginning.position ? beginning.seal : sealAt(rows, begin)
  if (beginSeal === undefined) return { ...page, fault: removedAt(begin) }
  let position = begin
  let seal = beginSeal
  const end = chain.position === 0 ? undefined : { position: chain.position, seal: chain.seal }
  const isExpected = () => [end, known].every((end) => end?.position !== position || end.seal === seal)
  if (!isExpected()) return { ...page, fault: changedHead(position) }
  const listed = await listErased(deps, rows)
  for (const row of rows) {
    // A row of a batch that has a position is found with its batch.
    if (row.seal_position === null || row.seal_position <= begin || row.xid !== Position.former) continue
    page.fault = await faultOfNext(deps, row, { position, seal }, listed)
    if (page.fault) return page
    page.checked += 1
    if (isAdopted(row)) page.adopted += 1
    position = row.seal_position
    seal = row.seal ?? ''
    if (!isExpected()) return { ...page, fault: { ...changedHead(position), event: row } }
  }
  if (found.length > pageSize && position > begin) return { ...page, next_cursor: `sealed.${position}` }
  if (position < chain.position) return { ...page, fault: removedAt(position + 1) }
  // Rows that were sealed meanwhile have moved the stored end too.
  if (position > chain.position && chain.former_closed === 1) return { ...page, fault: changedHead(position) }
  return { ...page, next_cursor: 'batches.0' }
}

/** Whether the row is what was written, and the next one after this place. Without the seal of the place, only its own proof counts. */
export async function faultOfNext(
  deps: Deps,
  row: StoredEvent,
  { position, seal }: { position: number; seal: string | undefined },
  listed: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<AuditFault | null> {
  const place = row.seal_position ?? 0
  // Another row has the same place.
  if (place <= position)
    return (
      faultOf(row, deps.auditProofs.check(row, true)) ?? {
        ...{ kind: 'inserted', subject: 'event', position: place, batch: null, event: row },
      }
    )
  if (place > position + 1) return removedAt(position + 1)
  const verdict = seal === undefined ? deps.auditProofs.check(row, true) : deps.auditProofs.checkFormer(row, seal)
  return faultOf(row, verdict) ?? (await faultOfErasure(deps, row, listed))
}

/** Without the rows of the last place, of which the next page may have more: two rows in one place are compared together. */
export function wholePlaces(rows: readonly StoredEvent[]): readonly StoredEvent[] {
  const last = rows.at(-1)?.seal_position
  const whole = rows.filter(({ seal_position }) => seal_position !== last)
  return whole.length > 0 ? whole : rows
}

function sealAt(rows: readonly StoredEvent[], position: number): string | undefined {
  return rows.find((row) => row.seal_position === position && row.xid === Position.former)?.seal ?? undefined
}
