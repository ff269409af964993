import type { Deps } from '../../deps.ts'
import { isAdopted, type ProofVerdict, type StoredEvent } from '../../lib/audit-proof.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditCheckpoint, type Checkpoint } from '../../models/audit-checkpoint.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { checkpointFacts, headFacts, keysOfChain } from './keys-of-chain.ts'
import type { AuditFault, VerifiedPage } from './present.ts'
import type { VerifyAuditRequest } from './schema.ts'

/** So many rows a page: it is read in a few milliseconds, and takes a megabyte. */
const pageSize = 1_000

/**
 * Compares a page of the audit log with its proofs: first the chain from its beginning, then the rows without a seal. It names the first
 * row that is not what the service wrote. Rows may be written, sealed and deleted by retention meanwhile.
 */
export async function verifyAudit(deps: Deps, { cursor, head: known }: VerifyAuditRequest): Promise<VerifiedPage> {
  // The end of the chain first, its beginning last: what is sealed and deleted in between is missing at neither end.
  const chain = await AuditChain.find(deps.db)
  if (chain) keysOfChain(deps, chain)
  const [phase = 'sealed', start = ''] = cursor?.split('.') ?? []
  if (phase === 'unsealed') return verifyUnsealed(deps, chain, start === '' ? undefined : start)

  const page: VerifiedPage = { checked: 0, adopted: 0, unsealed: 0, fault: null, chain, next_cursor: null }
  const from = Number(start)
  const rows = await AuditEvent.listSealed(deps.db, { from, limit: pageSize + 1 })
  const checkpoint = await AuditCheckpoint.findLast(deps.db)
  page.fault = await faultOfEnds(deps, { chain, checkpoint, isFirst: from === 0, hasRows: rows.length > 0 })
  if (page.fault) return page

  const begin = Math.max(from, checkpoint?.seal_position ?? 0)
  const beginSeal = begin === checkpoint?.seal_position ? checkpoint.seal : begin === 0 ? '' : sealAt(rows, begin)
  if (beginSeal === undefined) return { ...page, fault: removedAt(begin) }
  let position = begin
  let seal = beginSeal
  const isExpected = () => [chain, known].every((end) => end?.position !== position || end.seal === seal)
  if (!isExpected()) return { ...page, fault: { kind: 'changed', subject: 'head', position, event: null } }
  for (const row of rows) {
    if (row.seal_position === null || row.seal_position <= begin) continue
    page.fault = row.seal_position === position + 1 ? faultOfSealed(deps, row, seal) : removedAt(position + 1)
    if (page.fault) return page
    page.checked += 1
    if (isAdopted(row)) page.adopted += 1
    position = row.seal_position
    seal = row.seal ?? ''
    if (!isExpected()) return { ...page, fault: { kind: 'changed', subject: 'head', position, event: row } }
  }
  if (rows.length > pageSize) return { ...page, next_cursor: `sealed.${position}` }
  const expected = Math.max(chain?.position ?? 0, known?.position ?? 0)
  if (position < expected) return { ...page, fault: removedAt(position + 1) }
  return { ...page, next_cursor: 'unsealed.' }
}

interface Ends {
  chain: Chain | undefined
  checkpoint: Checkpoint | undefined
  isFirst: boolean
  hasRows: boolean
}

async function faultOfEnds({ auditProofs, db }: Deps, { chain, checkpoint, isFirst, hasRows }: Ends): Promise<AuditFault | null> {
  if (!chain && (hasRows || checkpoint)) return { kind: 'removed', subject: 'head', position: null, event: null }
  if (chain && !auditProofs.isSigned(chain.signature, headFacts(chain)))
    return { kind: 'changed', subject: 'head', position: chain.position, event: null }
  if (checkpoint && !auditProofs.isSigned(checkpoint.signature, checkpointFacts(checkpoint)))
    return { kind: 'changed', subject: 'checkpoint', position: checkpoint.seal_position, event: null }
  const before = isFirst ? await AuditEvent.findBeforeChain(db) : undefined
  return before ? { kind: 'inserted', subject: 'event', position: before.seal_position, event: before } : null
}

function sealAt(rows: readonly StoredEvent[], position: number): string | undefined {
  return rows.find((row) => row.seal_position === position)?.seal ?? undefined
}

function removedAt(position: number): AuditFault {
  return { kind: 'removed', subject: 'event', position, event: null }
}

function faultOfSealed({ auditProofs }: Deps, row: StoredEvent, previous: string): AuditFault | null {
  const { seal, mac, seal_position: position } = row
  const fault = faultOf(row, auditProofs.check(row))
  if (fault) return fault
  const isNext = seal !== null && mac !== null && position !== null && auditProofs.isSeal(seal, previous, mac, position)
  return isNext ? null : faultOf(row, 'changed')
}

function faultOf(event: StoredEvent, verdict: ProofVerdict): AuditFault | null {
  if (verdict === 'whole') return null
  const kind = verdict === 'unknown key' ? 'unknown_key' : verdict === 'unproven' ? 'inserted' : 'changed'
  return { kind, subject: 'event', position: event.seal_position, event }
}

async function verifyUnsealed(deps: Deps, chain: Chain | undefined, after: string | undefined): Promise<VerifiedPage> {
  const rows = await AuditEvent.listUnsealed(deps.db, { after, limit: pageSize })
  const page = { checked: rows.length, adopted: 0, unsealed: rows.length, chain, next_cursor: null }
  const mayBeUnproven = !chain || deps.clock() < chain.adopts_until
  for (const row of rows) {
    const verdict = row.seal === null ? deps.auditProofs.check(row) : 'changed'
    const fault = verdict === 'unproven' && mayBeUnproven ? null : faultOf(row, verdict)
    if (fault) return { ...page, fault }
  }
  const last = rows.length === pageSize ? rows.at(-1) : undefined
  return { ...page, fault: null, next_cursor: last ? `unsealed.${last.id}` : null }
}
