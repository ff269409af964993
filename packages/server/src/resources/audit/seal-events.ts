import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { contentOf, endOf, isCounting, type StoredEvent, tagOf } from '../../lib/audit-proof.ts'
import { parseSnapshot, sees, snapshotText, upTo } from '../../lib/feed-cursors.ts'
import { type FormerCheck, formerCheckOf, isFormerChecked } from '../../lib/former-audit-check.ts'
import { AuditBatch } from '../../models/audit-batch.ts'
import { AuditEvent, type SealableEvent } from '../../models/audit-event.ts'
import { lockChain, type OwnChain, rowsBetween, signBeginning, storeChain } from './chain.ts'
import { checkFormerEvents, type FormerPass, sealFormerEvents } from './former-chain.ts'

const batchSize = 500
/** Comparing the chain of a former version may take minutes. The end of the seals is logged meanwhile. */
const mostCheckingMs = 5_000
/** A row counts for the rest of its minute, plus some seconds because the clocks of servers differ. */
const countingMs = 70_000

/**
 * The end of the seals, and how many records are not what was written: rows, which got into no batch, and the beginning of the
 * seals.
 */
export interface Sealed {
  position: number
  seal: string
  /** The number of the last batch. */
  batch: number
  sealed: number
  refused: number
  refusedBeginnings: number
  /** What the chain of a former version was found to be when it was compared. */
  former: FormerCheck | undefined
}

interface Step extends Pick<Sealed, 'sealed' | 'refused'> {
  chain: OwnChain
  isLast: boolean
}

/**
 * Seals the events that are not sealed yet, in batches. Several servers may run it at once: they wait for one another. Throws if
 * the end of the seals is forged or gone.
 */
export async function sealEvents(deps: Deps<Pool>, isStopping: () => boolean = () => false): Promise<Sealed> {
  let sealed = 0
  let refused = 0
  let areBeginningsWhole = true
  const until = performance.now() + mostCheckingMs
  let pass: FormerPass = { after: undefined, isIdle: true }
  for (;;) {
    const { next, ...step } = await transaction(deps, async (deps) => {
      const chain = await lockChain(deps)
      areBeginningsWhole = await signBeginning(deps)
      const batch = await sealBatch(deps, chain)
      const isChecking = !isFormerChecked(batch.chain)
      const former = isChecking ? await checkFormerEvents(deps, batch.chain) : await sealFormerEvents(deps, batch.chain, pass)
      const isOver = isChecking ? performance.now() > until : former.next === undefined
      return {
        ...{ chain: former.chain, next: former.next, isLast: batch.isLast && isOver },
        ...{ sealed: batch.sealed + former.sealed, refused: batch.refused + former.refused },
      }
    })
    sealed += step.sealed
    refused += step.refused
    pass = next ?? pass
    if (step.isLast || isStopping())
      return {
        ...{ ...endOf(step.chain), batch: step.chain.batch, sealed, refused, refusedBeginnings: areBeginningsWhole ? 0 : 1 },
        former: formerCheckOf(step.chain),
      }
    // SQLite answers within the same turn of the event loop, so a long log after an upgrade would hold up everything else.
    await nextTurn()
  }
}

/** Writes a batch of the events that ended transactions have written since the last one. */
async function sealBatch(deps: Deps<Tx>, chain: OwnChain): Promise<Step> {
  const { db, auditProofs } = deps
  const now = deps.clock()
  const isDone = await endCounting(deps, chain, now)
  const from = parseSnapshot(chain.upto)
  const visible = await AuditEvent.snapshot(db, chain.shift)
  const seal = auditProofs.beginBatch()
  if (!seal) throw new Error('the current key is unknown')
  const tags: string[] = []
  const contents: (string | null)[] = []
  let refused = 0
  let upto = visible
  const counting: string[] = []
  const proven: StoredEvent[] = []
  const add = (row: SealableEvent) => {
    const isOpen = row.counted_by !== null && row.at >= now - countingMs
    const verdict = auditProofs.check(row, false)
    const isAdopted = verdict === 'unproven' && now < chain.adopts_until
    if (verdict !== 'whole' && !isAdopted) refused += 1
    // Servers of the previous version give rows that count a position at once.
    else if (isOpen && (isAdopted || isCounting(row))) counting.push(row.id)
    else {
      const isNew = isAdopted || isCounting(row)
      const sealed = isNew ? { ...row, ...(isAdopted ? auditProofs.adopt(row) : auditProofs.proveCounted(row)) } : row
      if (isNew) proven.push(sealed)
      if (sealed.mac === null) throw new Error('an event without a proof cannot be sealed')
      seal.add(sealed.mac)
      tags.push(tagOf(sealed.mac))
      contents.push(isNew ? null : row.content)
    }
  }
  const first = await AuditEvent.listUnseen(db, from, { below: visible.xmax, limit: batchSize })
  const last = first.length === batchSize ? first.at(-1) : undefined
  // The rows of one transaction come together, even if they are more than a portion.
  const isOneTransaction = last !== undefined && first[0]?.xid === last.xid
  if (last) upto = upTo(from, visible, isOneTransaction ? last.xid + 1 : last.xid)
  const isInBatch = ({ xid }: SealableEvent) => sees(upto, xid) && sees(visible, xid)
  for (const row of first) if (isInBatch(row)) add(row)
  if (isOneTransaction)
    for await (const rows of rowsBetween(deps, from, upto, last)) for (const row of rows) if (isInBatch(row)) add(row)
  if (counting.length > 0) await AuditEvent.keepCounting(db, counting)
  if (proven.length > 0) await AuditEvent.rewrite(db, proven, ['salt', 'personal_digest', 'mac'])
  const isLast = isDone && upto === visible
  if (tags.length === 0) {
    // Looks at what it refused only once. It stays in the range of the next batch, which does not list it.
    const next = refused === 0 ? chain : await storeChain(deps, { ...chain, upto: snapshotText(upto) })
    return { chain: next, sealed: 0, refused, isLast }
  }
  const facts = {
    ...{
      number: chain.batch + 1,
      count: tags.length,
      upto: snapshotText(upto),
      tags: tags.join(''),
      sealed_at: now,
      content: contentOf(contents),
    },
    position: (chain.batch === 0 ? chain.former_end : chain.batch_position) + tags.length,
  }
  const batch = { ...facts, seal: seal.over(chain.batch === 0 ? '' : chain.batch_seal, facts) }
  await AuditBatch.insert(db, batch)
  const stored = await AuditBatch.find(db, { number: batch.number })
  if (!stored) throw new Error('the database did not store the batch of audit events')
  const next = {
    ...{ ...chain, batch: batch.number, batch_position: batch.position, batch_seal: batch.seal },
    ...{ upto: batch.upto, sealed_at: now },
  }
  return { chain: await storeChain(deps, next), sealed: tags.length, refused, isLast }
}

/**
 * Gives rows their place and their last proof once they no longer count. False if there were any: the next round sees them, at the
 * place of this transaction.
 */
async function endCounting({ db, auditProofs }: Deps<Tx>, chain: OwnChain, now: number): Promise<boolean> {
  const rows = await AuditEvent.listCountedForUpdate(db, now - countingMs, batchSize)
  if (rows.length === 0) return true
  const proven = rows.flatMap((row) => {
    const verdict = auditProofs.check(row, false)
    if (verdict === 'whole') return [{ ...row, ...auditProofs.proveCounted(row) }]
    return verdict === 'unproven' && now < chain.adopts_until ? [{ ...row, ...auditProofs.adopt(row) }] : []
  })
  await AuditEvent.rewrite(db, proven, ['salt', 'personal_digest', 'mac'])
  // Also those that are not what was written: they are looked at and refused with the next batch.
  await AuditEvent.position(
    db,
    rows.map(({ id }) => id),
  )
  return false
}
