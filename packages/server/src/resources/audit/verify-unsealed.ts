import type { Deps } from '../../deps.ts'
import { Position, type StoredEvent } from '../../lib/audit-proof.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import type { Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { faultOf } from './faults.ts'
import type { VerifiedPage } from './present.ts'
import type { Beginning } from './read-beginning.ts'

const pageSize = 1_000

/** Compares the next rows that are in no batch. */
export async function verifyUnsealed(
  deps: Deps,
  chain: Chain | undefined,
  beginning: Beginning,
  cursor: string,
): Promise<VerifiedPage> {
  const [xid = '', id = ''] = cursor.split('.')
  // What the sealer has refused since the last batch is among the rows, too.
  const last = chain && (await AuditBatch.find(deps.db, chain.batch))
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
export async function verifyFormer(deps: Deps, chain: Chain | undefined, after: string): Promise<VerifiedPage> {
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
