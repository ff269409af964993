import { setImmediate as nextTurn } from 'node:timers/promises'
import { amongRequests } from '../../db/among-requests.ts'
import { dropMonths, type Month } from '../../db/audit-months.ts'
import type { Db, Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { isFormerChecked } from '../../lib/former-audit-check.ts'
import { RevocationNotes } from '../../lib/revocation-notes.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { checkedBeginning, expiryOf, wholeMonths } from './expire-events.ts'
import { type Beginning, recordBeginning } from './read-beginning.ts'

const portion = 1_000
/** A dump may have the table for hours. The next run tries again. */
const mostTries = 5

/**
 * Drops the first months that are over, of which all events are as old as `until`, and leaves a checkpoint. Compares their batches
 * first, a portion at a time, and drops nothing if one of them is not what was written. Returns how many events went.
 */
export async function expireMonths(deps: Deps<Pool>, until: number): Promise<number> {
  const { over } = await wholeMonths(deps.db, until)
  if (over.length === 0) return 0
  const begin = await checkedBeginning(deps)
  const chain = await AuditChain.find(deps.db)
  if (!chain) return 0
  // The chain of a former version goes first, row by row.
  if (begin.batch === null && (!isFormerChecked(chain) || (await AuditEvent.hasChained(deps.db)))) return 0
  let previous = { seal: begin.batch === null ? '' : begin.seal, upto: begin.upto ?? firstSnapshot }
  let last: Batch | undefined
  let seen: Month[] = []
  for (let after = begin.batch ?? 0; seen.length < over.length; ) {
    const batches = await AuditBatch.listAfter(deps.db, after, portion)
    let isOver = batches.length === 0
    for (const batch of batches) {
      const state = batch.number > chain.batch ? 'kept' : await expiryOf(deps, previous, batch, () => until)
      isOver ||= state === 'kept'
      if (isOver) break
      if (state === 'expired') last = batch
      previous = batch
      after = batch.number
    }
    seen = last ? await seenBy(deps.db, over, last) : []
    if (isOver) break
    await nextTurn()
  }
  const end = last
  if (!end || seen.length === 0) return 0
  return amongRequests(
    deps.db,
    (db) => dropBehind({ ...deps, db, revocations: new RevocationNotes() }, begin, end, seen),
    mostTries,
  )
}

async function dropBehind(deps: Deps<Tx>, begin: Beginning, end: Batch, months: readonly Month[]): Promise<number> {
  const { db } = deps
  // Another server may have dropped them.
  await AuditChain.findForUpdate(db)
  const now = await checkedBeginning(deps)
  if (now.batch !== begin.batch || (await seenBy(db, months, end)).length < months.length) return 0
  await recordBeginning(deps, { position: end.position, seal: end.seal, batch: end.number, upto: end.upto })
  await AuditBatch.deleteUpTo(db, end.number)
  await dropMonths(db, months)
  // Rows of the other partitions that were written at the same time.
  await AuditEvent.deleteBetween(db, parseSnapshot(begin.upto ?? firstSnapshot), parseSnapshot(end.upto))
  return end.position - begin.position
}

/** The months without an event after the batch. */
async function seenBy(db: Db, months: readonly Month[], { upto }: Batch): Promise<Month[]> {
  const seen: Month[] = []
  for (const month of months) if (!(await AuditEvent.hasUnseen(db, month, parseSnapshot(upto)))) seen.push(month)
  return seen
}
