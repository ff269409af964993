import { createHash } from 'node:crypto'
import type { Deps } from '../../deps.ts'
import { ArchiveSigner } from '../../lib/archive-signature.ts'
import type { StoredEvent } from '../../lib/audit-proof.ts'
import { iso } from '../../lib/timestamps.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { Service } from '../../models/service.ts'
import { faultOfHead, kindOf } from './faults.ts'
import { keysOfChain } from './keys-of-chain.ts'
import type { AuditFault } from './present.ts'
import { readBeginning } from './read-beginning.ts'
import type { ArchiveAuditRequest } from './schema.ts'
import { compareBatch, faultOfOrder, previousOf } from './verify-batches.ts'

/** Events per part, more or less. Batches are not divided. */
const partSize = 1_000

interface ArchivePart {
  lines: string[]
  key: string
  events: number
  fault: AuditFault | null
  next_cursor: string | null
}

/**
 * A part of the archive of the batches that were sealed before a time: a line for each batch and each event, and one that signs them.
 * Every event is compared with its proof first; an archive ends at the first fault.
 */
export async function archiveAudit(deps: Deps, { before, cursor }: ArchiveAuditRequest): Promise<ArchivePart> {
  const { db, auditProofs } = deps
  const chain = await AuditChain.find(db)
  if (chain) keysOfChain(deps, chain)
  const signer = new ArchiveSigner(auditProofs.current.bytes)
  const part = { lines: [], key: signer.publicKey, events: 0, fault: null, next_cursor: null }
  const beginning = await readBeginning(deps)
  const kind = kindOf(beginning.state)
  const { position, batch: begin } = beginning
  if (kind) return { ...part, fault: { kind, subject: 'checkpoint', position, batch: begin, event: null } }
  const fault = faultOfHead(deps, chain)
  if (!chain || fault) return { ...part, fault }
  const after = cursor === undefined ? (begin ?? 0) : Number(cursor.slice('batch.'.length))
  const previous = await previousOf(deps, chain, beginning, after)
  if (!previous) return { ...part, fault: { kind: 'removed', subject: 'batch', position: null, batch: after, event: null } }
  const found = await AuditBatch.listAfter(db, previous.number, partSize)
  const batches = found.filter(({ sealed_at, number }) => sealed_at < before && number <= chain.batch)
  const disorder = faultOfOrder(previous, batches)
  if (disorder) return { ...part, fault: disorder }
  const lines: string[] = []
  let events = 0
  for (const [index, batch] of batches.entries()) {
    lines.push(batchLine(batch))
    const page = { checked: 0, adopted: 0, fault: null as AuditFault | null }
    await compareBatch(deps, batches[index - 1] ?? previous, batch, page, (row) => lines.push(eventLine(row)))
    if (page.fault) return { ...part, fault: page.fault }
    events += page.checked
  }
  const { number, seal, position: end } = batches.at(-1) ?? previous
  const isLast = found.length === 0 || batches.length < found.length || number === chain.batch
  const digest = createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('base64url')
  const facts = {
    ...{ service_id: await Service.getId(db), before: iso(before), first: cursor === undefined, last: isLast },
    ...{ after: { batch: previous.number, seal: previous.seal }, to: { batch: number, seal, position: end }, events },
  }
  lines.push(signer.lineOf(facts, digest))
  return { ...part, lines, events, next_cursor: isLast ? null : `batch.${number}` }
}

function batchLine({ number, position, count, seal, sealed_at }: Batch): string {
  return JSON.stringify({ batch: number, position, count, seal, sealed_at: iso(sealed_at) })
}

function eventLine({ id, event, at, count, reason, audit_reason, actor_type, actor_id, ...row }: StoredEvent): string {
  const { user_id, app_id, email, ip, user_agent, request_id, details } = row
  const actor = { type: actor_type, id: actor_id }
  return JSON.stringify({
    ...{ id, event, at: iso(at), count, reason, audit_reason, actor, user_id, app_id, email, ip, user_agent, request_id },
    details: details === null ? null : JSON.parse(details),
  })
}
