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
  const end = chain.position === 0 ? undefined : { position: chain.position, seal: chain.seal }
  const begin = Math.max(from, beginning.position)
  const below = begin + pageSize + 1
  const { rows, end: read } = await listPlaces(deps, { from: begin, below })
  const beginSeal = begin === beginning.position ? beginning.seal : sealAt(rows, begin)
  if (beginSeal === undefined) return { ...page, fault: removedAt(begin) }
  let position = begin
  let seal = beginSeal
  const isExpected = () => [end, known].every((end) => end?.position !== position || end.seal === seal)
  if (!isExpected()) return { ...page, fault: changedHead(position) }
  const listed = await listErased(deps, rows)
  for (const row of rows) {
    // A row of a batch that has a position is found with its batch.
    if (row.seal_position === null || row.seal_position <= begin || row.xid !== Position.former) continue
    const isAfterEnd = chain.former_closed === 1 && row.seal_position > chain.position
    page.fault = isAfterEnd ? strayFrom(deps, row) : await faultOfNext(deps, row, { position, seal }, listed)
    if (page.fault) return page
    page.checked += 1
    if (isAdopted(row)) page.adopted += 1
    position = row.seal_position
    seal = row.seal ?? ''
    if (!isExpected()) return { ...page, fault: { ...changedHead(position), event: row } }
  }
  if (position > begin && position === read) return { ...page, next_cursor: `sealed.${position}` }
  if (position < chain.position) return { ...page, fault: removedAt(position + 1) }
  // Rows that were sealed meanwhile have moved the stored end too.
  if (chain.former_closed === 0) return { ...page, next_cursor: 'batches.0' }
  if (position > chain.position) return { ...page, fault: changedHead(position) }
  const [stray] = await AuditEvent.listChained(deps.db, { from: below, limit: 1 })
  return stray ? { ...page, fault: strayFrom(deps, stray) } : { ...page, next_cursor: 'batches.0' }
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
  if (place <= position) return strayFrom(deps, row)
  if (place > position + 1) return removedAt(position + 1)
  const verdict = seal === undefined ? deps.auditProofs.check(row, true) : deps.auditProofs.checkFormer(row, seal)
  return faultOf(row, verdict) ?? (await faultOfErasure(deps, row, listed))
}

/** A row in a place that is not free. */
export function strayFrom({ auditProofs }: Deps, row: StoredEvent): AuditFault {
  const { seal_position: position } = row
  return faultOf(row, auditProofs.check(row, true)) ?? { kind: 'inserted', subject: 'event', position, batch: null, event: row }
}

/** The rows of these places, and the last place that was read: many rows may claim the same one. */
export async function listPlaces(
  { db }: Deps,
  { from, below }: { from: number; below: number },
): Promise<{ rows: readonly StoredEvent[]; end: number }> {
  const limit = 2 * (below - from)
  const rows = await AuditEvent.listChained(db, { from, below, limit })
  if (rows.length < limit) return { rows, end: below - 1 }
  const last = rows.at(-1)?.seal_position ?? from
  // There may be more in the last one. All rows together are in one only if somebody has put them there.
  const whole = rows.filter(({ seal_position }) => seal_position !== last)
  const before = whole.at(-1)?.seal_position
  return before == null ? { rows, end: last } : { rows: whole, end: before }
}

function sealAt(rows: readonly StoredEvent[], position: number): string | undefined {
  return rows.find((row) => row.seal_position === position && row.xid === Position.former)?.seal ?? undefined
}
