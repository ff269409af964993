import type { Deps } from '../../deps.ts'
import { Position, type StoredEvent } from '../../lib/audit-proof.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { type Beginning, hasEarlierSeals, keysOfChain, readBeginning } from './chain.ts'
import { faultOf, faultOfHead, kindOf } from './faults.ts'
import { verifyChain } from './former-chain.ts'
import type { AuditFault, VerifiedPage } from './present.ts'
import type { VerifyAuditRequest } from './schema.ts'
import { verifyBatches } from './verify-batches.ts'

/**
 * Compares a page of the audit log with its proofs: first the chain of rows that former versions wrote, then the batches, then what
 * is not sealed. Reports the first row that is not what the service wrote. Rows may be written, sealed and deleted by retention
 * while it runs.
 */
export async function verifyAudit(deps: Deps, request: VerifyAuditRequest): Promise<VerifiedPage> {
  const chain = await AuditChain.findOnly(deps.db)
  if (chain) keysOfChain(deps, chain)
  const fault = faultOfHead(deps, chain)
  if (fault) return withFault(chain, fault)
  const beginning = await readBeginning(deps)
  const kind = kindOf(beginning.state)
  if (kind)
    return withFault(chain, { kind, subject: 'checkpoint', position: beginning.position, batch: beginning.batch, event: null })
  const page = await verifyPhase(deps, chain, beginning, request)
  if (!page.fault) return page
  // Retention may have deleted what this page was about to compare, and the first server may have begun.
  const begins = await readBeginning(deps)
  const hasMoved = begins.state === 'whole' && begins.position > beginning.position
  const hasBegun = !chain && (await AuditChain.findOnly(deps.db)) !== undefined
  return hasMoved || hasBegun ? verifyAudit(deps, request) : page
}

async function verifyPhase(
  deps: Deps,
  chain: Chain | undefined,
  beginning: Beginning,
  { cursor, head }: VerifyAuditRequest,
): Promise<VerifiedPage> {
  const [phase = '', ...place] = cursor?.split('.') ?? []
  const start = place.join('.')
  if (phase === 'unsealed') return verifyUnsealed(deps, chain, beginning, start)
  if (phase === 'former') return verifyFormer(deps, chain, start)
  if (!chain) {
    const isGone = beginning.position > 0 || (await hasEarlierSeals(deps))
    const fault: AuditFault = { kind: 'removed', subject: 'head', position: null, batch: null, event: null }
    return isGone ? withFault(chain, fault) : { ...withFault(chain, null), next_cursor: 'unsealed.' }
  }
  if (phase === 'batch' || phase === 'batches')
    return verifyBatches(deps, chain, beginning, { after: Number(start), known: head, isNoted: phase === 'batch' })
  const before = start === '' ? await rowBefore(deps, beginning) : undefined
  if (before)
    return withFault(chain, { kind: 'inserted', subject: 'event', position: before.seal_position, batch: null, event: before })
  const early =
    start === ''
      ? await AuditBatch.query(deps.db)
          .where('number', '<=', beginning.batch ?? 0)
          .orderBy('number')
          .first()
      : undefined
  if (early) return withFault(chain, { kind: 'inserted', subject: 'batch', position: null, batch: early.number, event: null })
  if (beginning.batch !== null) return { ...withFault(chain, null), next_cursor: `batches.${beginning.batch}` }
  return verifyChain(deps, chain, beginning, { from: Number(start), known: head })
}

/** Retention only ever moves the beginning up, together with its deletions. */
async function rowBefore({ db }: Deps, { position, upto }: Beginning) {
  return (
    (await AuditEvent.findBeforeChain(db, position)) ??
    (await AuditEvent.findBeforeBatches(db, parseSnapshot(upto ?? firstSnapshot)))
  )
}

function withFault(chain: Chain | undefined, fault: AuditFault | null): VerifiedPage {
  return { checked: 0, adopted: 0, unsealed: 0, fault, chain, next_cursor: null }
}

const pageSize = 1_000

/** Compares the next rows that are in no batch. */
async function verifyUnsealed(deps: Deps, chain: Chain | undefined, beginning: Beginning, cursor: string): Promise<VerifiedPage> {
  const [xid = '', id = ''] = cursor.split('.')
  // What the sealer has refused since the last batch is among the rows, too.
  const last = chain && (await AuditBatch.find(deps.db, { number: chain.batch }))
  const seen = parseSnapshot(last?.upto ?? beginning.upto ?? firstSnapshot)
  const rows = await AuditEvent.listUnseen(
    deps.db,
    { xmax: seen.xmax, running: [Position.counting, ...seen.running] },
    { after: id === '' ? undefined : { xid: Number(xid), seal_position: null, id }, limit: pageSize },
  )
  // No transaction of the service has written what is above. Such a row would never be sealed.
  const { xmax } = await AuditEvent.snapshot(deps.db, chain?.shift ?? 0)
  const page = compare(deps, chain, rows, { mayBeUnproven: !chain || deps.clock() < chain.adopts_until, below: xmax })
  const next = rows.length === pageSize ? rows.at(-1) : undefined
  return page.fault ? page : { ...page, next_cursor: next ? `unsealed.${next.xid}.${next.id}` : 'former.' }
}

/** Compares the next rows from before batches that have no place in the former chain. */
async function verifyFormer(deps: Deps, chain: Chain | undefined, after: string): Promise<VerifiedPage> {
  const rows = await AuditEvent.listFormer(deps.db, { after: after === '' ? undefined : after, limit: pageSize })
  const [first] = rows
  if (first && chain?.former_closed === 1) {
    const verdict = deps.auditProofs.check(first, false)
    const fault = faultOf(first, verdict === 'whole' ? 'unproven' : verdict)
    return { checked: 1, adopted: 0, unsealed: 1, fault, chain, next_cursor: null }
  }
  const page = compare(deps, chain, rows, { mayBeUnproven: true, below: 1 })
  const last = rows.length === pageSize ? rows.at(-1) : undefined
  return { ...page, next_cursor: last && !page.fault ? `former.${last.id}` : null }
}

function compare(
  deps: Deps,
  chain: Chain | undefined,
  rows: readonly StoredEvent[],
  { mayBeUnproven, below }: { mayBeUnproven: boolean; below: number },
): VerifiedPage {
  const page = { checked: rows.length, adopted: 0, unsealed: rows.length, chain, next_cursor: null }
  for (const row of rows) {
    const isClean = row.seal === null && row.seal_position === null && row.xid < below
    const verdict = isClean ? deps.auditProofs.check(row, false) : 'changed'
    const fault = verdict === 'unproven' && mayBeUnproven ? null : faultOf(row, verdict)
    if (fault) return { ...page, fault }
  }
  return { ...page, fault: null }
}

/** Compares the whole audit log with its proofs, and returns the first fault. */
export async function checkAudit(deps: Deps): Promise<AuditFault | null> {
  let cursor: string | undefined
  for (;;) {
    const { fault, next_cursor } = await verifyAudit(deps, { cursor })
    if (fault || next_cursor === null) return fault
    cursor = next_cursor
  }
}
