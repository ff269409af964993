import type { Deps } from '../../deps.ts'
import type { AuditEventName } from '../../lib/audit-events.ts'
import { isAdopted, type ProofState, type StoredEvent } from '../../lib/audit-proof.ts'
import { isUuid } from '../../lib/uuid.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { headFacts, keysOfChain, recordIn } from './keys-of-chain.ts'
import type { AuditFault, VerifiedPage } from './present.ts'
import { type Place, readBeginning } from './read-beginning.ts'
import type { VerifyAuditRequest } from './schema.ts'

/** Rows per page. A page is read in a few milliseconds and takes a megabyte. */
const pageSize = 1_000

/**
 * Compares a page of the audit log with its proofs: first the chain from its beginning, then the rows without a seal. Reports the
 * first row that is not what the service wrote. Rows may be written, sealed and deleted by retention while it runs.
 */
export async function verifyAudit(deps: Deps, { cursor, head: known }: VerifyAuditRequest): Promise<VerifiedPage> {
  // Read the end of the chain first and its beginning last, so that rows sealed or deleted in between are not reported as
  // missing.
  const chain = await AuditChain.find(deps.db)
  if (chain) keysOfChain(deps, chain)
  const [phase = 'sealed', start = ''] = cursor?.split('.') ?? []
  if (phase === 'unsealed') return verifyUnsealed(deps, chain, start === '' ? undefined : start)

  const page: VerifiedPage = { checked: 0, adopted: 0, unsealed: 0, fault: null, chain, next_cursor: null }
  const from = Number(start)
  const rows = await AuditEvent.listSealed(deps.db, { from, limit: pageSize + 1 })
  const beginning = await readBeginning(deps)
  page.fault = faultOfHead(deps, chain) ?? (await faultOfBeginning(deps, { chain, beginning, rows, isFirst: from === 0 }))
  if (page.fault) return page

  const begin = Math.max(from, beginning.position)
  const beginSeal = begin === beginning.position ? beginning.seal : sealAt(rows, begin)
  if (beginSeal === undefined) return { ...page, fault: removedAt(begin) }
  let position = begin
  let seal = beginSeal
  const isExpected = () => [chain, known].every((end) => end?.position !== position || end.seal === seal)
  if (!isExpected()) return { ...page, fault: { kind: 'changed', subject: 'head', position, event: null } }
  const listed = await listErased(deps, rows)
  for (const row of rows) {
    if (row.seal_position === null || row.seal_position <= begin) continue
    page.fault =
      row.seal_position === position + 1 ? faultOf(row, deps.auditProofs.checkSealed(row, seal)) : removedAt(position + 1)
    page.fault ??= await faultOfErasure(deps, row, listed)
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
  // Rows that were sealed meanwhile have moved the stored end too, so read it again.
  if (position > (chain?.position ?? 0) && position > ((await AuditChain.find(deps.db))?.position ?? 0))
    return { ...page, fault: { kind: 'changed', subject: 'head', position, event: null } }
  return { ...page, next_cursor: 'unsealed.' }
}

function faultOfHead({ auditProofs }: Deps, chain: Chain | undefined): AuditFault | null {
  const kind = kindOf(chain ? auditProofs.checkSignature(chain.signature, headFacts(chain)) : 'whole')
  return chain && kind ? { kind, subject: 'head', position: chain.position, event: null } : null
}

interface Start {
  chain: Chain | undefined
  beginning: Place & { state: ProofState }
  rows: readonly StoredEvent[]
  isFirst: boolean
}

async function faultOfBeginning({ db }: Deps, { chain, beginning, rows, isFirst }: Start): Promise<AuditFault | null> {
  const { position, state } = beginning
  if (!chain && (rows.length > 0 || position > 0)) return { kind: 'removed', subject: 'head', position: null, event: null }
  const kind = kindOf(state)
  if (kind) return { kind, subject: 'checkpoint', position, event: null }
  // Retention only ever moves the beginning up, together with its deletions.
  const before = isFirst ? await AuditEvent.findBeforeChain(db, position) : undefined
  return before ? { kind: 'inserted', subject: 'event', position: before.seal_position, event: before } : null
}

/** For each `audit.erased` event that erased one of the rows, the ids of the events that it lists. */
async function listErased({ db }: Deps, rows: readonly StoredEvent[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const ids = new Set(rows.map((row) => row.erased_by).filter((id) => id !== null))
  const events = await AuditEvent.listByIds(db, [...ids])
  return new Map(events.filter(isErasure).map(({ id, details }) => [id, new Set(erasedIn(details))]))
}

/**
 * An erased row must be listed by the event that erased it, and a listed row must still be erased: an attacker cannot put back
 * its content.
 */
async function faultOfErasure(
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

/** The ids of the events that had a seal when they were erased. */
function erasedIn(details: string | null): string[] {
  const { events } = recordIn(details ?? '')
  return Array.isArray(events) ? events.filter((id) => typeof id === 'string' && isUuid(id)) : []
}

function sealAt(rows: readonly StoredEvent[], position: number): string | undefined {
  return rows.find((row) => row.seal_position === position)?.seal ?? undefined
}

function removedAt(position: number): AuditFault {
  return { kind: 'removed', subject: 'event', position, event: null }
}

function faultOf(event: StoredEvent, verdict: ProofState): AuditFault | null {
  const kind = kindOf(verdict)
  return kind && { kind, subject: 'event', position: event.seal_position, event }
}

function kindOf(verdict: ProofState): AuditFault['kind'] | null {
  if (verdict === 'whole') return null
  if (verdict === 'unknown key') return 'unknown_key'
  return verdict === 'unproven' ? 'inserted' : 'changed'
}

async function verifyUnsealed(deps: Deps, chain: Chain | undefined, after: string | undefined): Promise<VerifiedPage> {
  const fault = faultOfHead(deps, chain)
  if (fault) return { checked: 0, adopted: 0, unsealed: 0, fault, chain, next_cursor: null }
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
