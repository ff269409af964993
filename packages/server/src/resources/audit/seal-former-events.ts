import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { isCounting, type StoredEvent } from '../../lib/audit-proof.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { type OwnChain, storeChain } from './lock-chain.ts'

const portion = 500
const countingMs = 70_000

export interface SealedFormer {
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
  const rows = await AuditEvent.listFormerForUpdate(db, { after, limit: portion })
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
  const last = rows.length === portion ? rows.at(-1)?.id : undefined
  const isStillIdle = isIdle && sealed.length === 0
  const isClosed = last === undefined && isStillIdle
  const next = last === undefined ? undefined : { after: last, isIdle: isStillIdle }
  if (sealed.length === 0 && !isClosed) return { chain, sealed: 0, refused, next }
  // What it adds was compared just now.
  const end = { ...chain, position, seal, former_checked: position, former_closed: isClosed ? 1 : 0, sealed_at: now }
  return { chain: await storeChain(deps, end), sealed: sealed.length, refused, next }
}
