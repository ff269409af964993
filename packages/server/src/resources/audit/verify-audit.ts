import type { Deps } from '../../deps.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { faultOfHead, kindOf } from './faults.ts'
import { keysOfChain } from './keys-of-chain.ts'
import { hasEarlierSeals } from './lock-chain.ts'
import type { AuditFault, VerifiedPage } from './present.ts'
import { type Beginning, readBeginning } from './read-beginning.ts'
import type { VerifyAuditRequest } from './schema.ts'
import { verifyBatches } from './verify-batches.ts'
import { verifyChain } from './verify-chain.ts'
import { verifyFormer, verifyUnsealed } from './verify-unsealed.ts'

/**
 * Compares a page of the audit log with its proofs: first the chain of rows that former versions wrote, then the batches, then what
 * is not sealed. Reports the first row that is not what the service wrote. Rows may be written, sealed and deleted by retention
 * while it runs.
 */
export async function verifyAudit(deps: Deps, request: VerifyAuditRequest): Promise<VerifiedPage> {
  const chain = await AuditChain.find(deps.db)
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
  const hasBegun = !chain && (await AuditChain.find(deps.db)) !== undefined
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
  const early = start === '' ? await AuditBatch.findUpTo(deps.db, beginning.batch ?? 0) : undefined
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
