import type { Tx } from '../../db/handle.ts'
import { forUpdate } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { isAdopted, isCounting, Position, type StoredEvent } from '../../lib/audit-proof.ts'
import { type FormerFaults, faultsIn } from '../../lib/former-audit-check.ts'
import type { Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { type Beginning, type OwnChain, readBeginning, type SealPlace, storeChain } from './chain.ts'
import { changedHead, faultOf, faultOfErasure, kindOf, listErased, removedAt } from './faults.ts'
import type { AuditFault, VerifiedPage } from './present.ts'

const pageSize = 1_000

/** Compares the next rows of the chain of rows that former versions wrote. Nothing is added to it once it is closed. */
export async function verifyChain(
  deps: Deps,
  chain: Chain,
  beginning: Beginning,
  { from, known }: { from: number; known: SealPlace | undefined },
): Promise<VerifiedPage> {
  const page: VerifiedPage = { checked: 0, adopted: 0, unsealed: 0, fault: null, chain, next_cursor: null }
  const end = chain.position === 0 ? undefined : { position: chain.position, seal: chain.seal }
  const begin = Math.max(from, beginning.position)
  const below = begin + pageSize + 1
  const { rows, end: read } = await listPlaces(deps, { from: begin, below })
  const beginSeal = begin === beginning.position ? beginning.seal : sealOfRow(rows, begin)
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

/**
 * Whether the row is what was written, and the next one after this place. Without the seal of the place, only its own proof counts.
 */
async function faultOfNext(
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
function strayFrom({ auditProofs }: Deps, row: StoredEvent): AuditFault {
  const { seal_position: position } = row
  return faultOf(row, auditProofs.check(row, true)) ?? { kind: 'inserted', subject: 'event', position, batch: null, event: row }
}

/** The rows of these places, and the last place that was read: many rows may claim the same one. */
async function listPlaces(
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

function sealOfRow(rows: readonly StoredEvent[], position: number): string | undefined {
  return rows.find((row) => row.seal_position === position && row.xid === Position.former)?.seal ?? undefined
}

const portion = 1_000
/** Of the faults, the signed end of the seals keeps the first ones and the number of all. */
const mostKept = 10

/**
 * Compares the next rows of the chain that a former version has left, each with its proof and with the row before it, and goes on
 * after a fault. Until all are compared, nothing is added to the chain, and retention deletes nothing of it. How far it came and
 * what it found is part of the signed end, so another server goes on from there, and nobody can take a fault back.
 */
export async function checkFormerEvents(deps: Deps<Tx>, chain: OwnChain): Promise<SealedFormer> {
  const found: FormerFaults = faultsIn(chain.former_faults)
  const before = found.count
  const add: Add = ({ kind, subject, position, event }, count = 1, isKept = true) => {
    found.count += count
    if (isKept && found.first.length < mostKept)
      found.first.push({
        kind,
        subject,
        position: typeof position === 'number' ? position : null,
        event_id: event ? String(event.id) : null,
      })
  }
  const former_checked = await compareNext(deps, chain, add)
  const former_faults = found.count === 0 ? null : JSON.stringify(found)
  const stored = await storeChain(deps, { ...chain, former_checked, former_faults })
  return { chain: stored, sealed: 0, refused: found.count - before, next: undefined }
}

/** `count`: of how many events it is. `isKept` is false if the one before stands for it. */
type Add = (fault: AuditFault, count?: number, isKept?: boolean) => void

/** Returns up to which position it has compared the rows. */
async function compareNext(deps: Deps<Tx>, chain: OwnChain, add: Add): Promise<number> {
  const { db } = deps
  const beginning = await readBeginning(deps)
  const kind = kindOf(beginning.state)
  // Nothing relies on it then: what it says was deleted is missing.
  if (kind && chain.former_checked === 0)
    add({ kind, subject: 'checkpoint', position: beginning.position, batch: beginning.batch, event: null })
  const begins = kind ? { position: 0, seal: '', batch: null } : beginning
  if (begins.batch !== null || begins.position >= chain.position) return chain.position
  const isBegin = begins.position >= chain.former_checked
  let place: { position: number; seal: string | undefined } = isBegin
    ? { position: begins.position, seal: begins.seal }
    : { position: chain.former_checked, seal: await sealAt(db, chain.former_checked) }
  const below = Math.min(place.position + portion, chain.position) + 1
  const { rows, end } = await listPlaces(deps, { from: place.position + 1, below })
  const listed = await listErased(deps, rows)
  const skipTo = (position: number) => {
    const missing = position - 1 - place.position
    if (missing <= 0) return
    // Those after a missing one belong to the same fault.
    add(removedAt(place.position + 1), missing, place.seal !== undefined)
    place = { position: position - 1, seal: undefined }
  }
  for (const row of rows) {
    const position = row.seal_position ?? 0
    skipTo(position)
    const fault = await faultOfNext(deps, row, place, listed)
    if (fault) add(fault)
    if (position > place.position) place = { position, seal: row.seal ?? '' }
  }
  skipTo(end + 1)
  if (place.position < chain.position) return place.position
  if (place.seal !== undefined && place.seal !== chain.seal) add(changedHead(chain.position))
  for (const row of await AuditEvent.listChained(db, { from: chain.position + 1, limit: portion })) add(strayFrom(deps, row))
  return chain.position
}

async function sealAt(db: Tx, position: number): Promise<string | undefined> {
  const [row] = await AuditEvent.listChained(db, { from: position, below: position + 1, limit: 1 })
  return row?.seal_position === position ? (row.seal ?? '') : undefined
}

const sealPortion = 500
const countingMs = 70_000

interface SealedFormer {
  chain: OwnChain
  sealed: number
  refused: number
  /** How to go on. Undefined after the last rows. */
  next: FormerPass | undefined
}

/** Through all rows that wait for a place. `isIdle`: none of those up to `after` got one. */
export interface FormerPass {
  after: string | undefined
  isIdle: boolean
}

/**
 * Seals the next rows from before batches, in the chain of rows that former versions wrote, also those without a proof. There is no
 * time limit for it: the signed end of the chain says how many they can be. When all are sealed, nothing is added to this chain.
 */
export async function sealFormerEvents(deps: Deps<Tx>, chain: OwnChain, { after, isIdle }: FormerPass): Promise<SealedFormer> {
  if (chain.former_closed === 1) return { chain, sealed: 0, refused: 0, next: undefined }
  const { db, auditProofs } = deps
  const now = deps.clock()
  const rows = await forUpdate(db, AuditEvent.listFormer(db, { after, limit: sealPortion }))
  let { position, seal } = chain
  let refused = 0
  const counting: string[] = []
  const sealed = rows.flatMap((row): StoredEvent[] => {
    const verdict = auditProofs.check(row, false)
    const isAdopted = verdict === 'unproven'
    if ((verdict !== 'whole' && !isAdopted) || position >= chain.former_end) {
      refused += 1
      return []
    }
    // A server of the previous version may still count in it.
    if (row.counted_by !== null && row.at >= now - countingMs && (isAdopted || isCounting(row))) {
      counting.push(row.id)
      return []
    }
    const isNew = isAdopted || isCounting(row)
    const proven = isNew ? { ...row, ...(isAdopted ? auditProofs.adopt(row) : auditProofs.proveCounted(row)) } : row
    if (proven.mac === null) return []
    position += 1
    seal = auditProofs.sealFormer(seal, proven.mac, position)
    return [{ ...proven, seal_position: position, seal }]
  })
  if (counting.length > 0) await AuditEvent.keepCounting(db, counting)
  if (sealed.length > 0) await AuditEvent.rewrite(db, sealed, ['salt', 'personal_digest', 'mac', 'seal_position', 'seal'])
  const last = rows.length === sealPortion ? rows.at(-1)?.id : undefined
  const isStillIdle = isIdle && sealed.length === 0
  const isClosed = last === undefined && isStillIdle
  const next = last === undefined ? undefined : { after: last, isIdle: isStillIdle }
  if (sealed.length === 0 && !isClosed) return { chain, sealed: 0, refused, next }
  // What it adds was compared just now.
  const end = { ...chain, position, seal, former_checked: position, former_closed: isClosed ? 1 : 0, sealed_at: now }
  return { chain: await storeChain(deps, end), sealed: sealed.length, refused, next }
}
