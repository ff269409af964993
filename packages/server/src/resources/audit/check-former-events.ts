import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FormerFaults, faultsIn } from '../../lib/former-audit-check.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { changedHead, kindOf, listErased, removedAt } from './faults.ts'
import { type OwnChain, storeChain } from './lock-chain.ts'
import type { AuditFault } from './present.ts'
import { readBeginning } from './read-beginning.ts'
import type { SealedFormer } from './seal-former-events.ts'
import { faultOfNext, wholePlaces } from './verify-chain.ts'

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
  const add = (fault: AuditFault, count = 1) => {
    const { kind, subject, position, event } = fault
    found.count += count
    if (found.first.length < mostKept) found.first.push({ kind, subject, position, event_id: event?.id ?? null })
  }
  const former_checked = await compareNext(deps, chain, add)
  const former_faults = found.count === 0 ? null : JSON.stringify(found)
  const stored = await storeChain(deps, { ...chain, former_checked, former_faults })
  return { chain: stored, sealed: 0, refused: found.count - before, next: undefined }
}

/** Returns up to which position it has compared the rows. */
async function compareNext(deps: Deps<Tx>, chain: OwnChain, add: (fault: AuditFault, count?: number) => void): Promise<number> {
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
  if (place.seal === undefined) add(removedAt(place.position))
  const found = await AuditEvent.listChained(db, { from: place.position + 1, limit: portion })
  const isLast = found.length < portion
  const rows = isLast ? found : wholePlaces(found)
  const listed = await listErased(deps, rows)
  for (const row of rows) {
    if (row.seal_position === null || row.seal_position > chain.position) break
    const missing = row.seal_position - place.position - 1
    if (missing > 0) {
      add(removedAt(place.position + 1), missing)
      place = { position: row.seal_position - 1, seal: undefined }
    }
    const fault = await faultOfNext(deps, row, place, listed)
    if (fault) add(fault)
    if (row.seal_position > place.position) place = { position: row.seal_position, seal: row.seal ?? '' }
  }
  if (!isLast && place.position < chain.position) return place.position
  const missing = chain.position - place.position
  if (missing > 0) add(removedAt(place.position + 1), missing)
  else if (place.seal !== chain.seal) add(changedHead(chain.position))
  for (const row of await AuditEvent.listChained(db, { from: chain.position + 1, limit: portion }))
    add({ kind: 'inserted', subject: 'event', position: row.seal_position, batch: null, event: row })
  return chain.position
}

async function sealAt(db: Tx, position: number): Promise<string | undefined> {
  const [row] = await AuditEvent.listChained(db, { from: position, limit: 1 })
  return row?.seal_position === position ? (row.seal ?? '') : undefined
}
