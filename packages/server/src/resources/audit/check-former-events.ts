import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FormerFaults, faultsIn } from '../../lib/former-audit-check.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { changedHead, kindOf, listErased, removedAt } from './faults.ts'
import { type OwnChain, storeChain } from './lock-chain.ts'
import type { AuditFault } from './present.ts'
import { readBeginning } from './read-beginning.ts'
import type { SealedFormer } from './seal-former-events.ts'
import { faultOfNext, listPlaces, strayFrom } from './verify-chain.ts'

const portion = 1_000
/** Of the faults, the signed end of the seals keeps the first ones and the number of all. */
const mostKept = 10

/**
 * Compares the next rows of the chain that a former version has left, each with its proof and with the row before it, and goes on
 * after a fault. Until all are compared, nothing is added to the chain, and retention deletes nothing of it. How far it came and what
 * it found is part of the signed end, so another server goes on from there, and nobody can take a fault back.
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
