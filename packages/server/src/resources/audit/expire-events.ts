import { listMonths, type Month } from '../../db/audit-months.ts'
import type { Db, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { StoredEvent } from '../../lib/audit-proof.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { isFormerChecked } from '../../lib/former-audit-check.ts'
import { firstIdAt } from '../../lib/uuid.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import type { Expired } from '../../models/base-model.ts'
import { keysOfChain, sealedBy } from './keys-of-chain.ts'
import { type Beginning, readBeginning, recordBeginning } from './read-beginning.ts'
import { rowsBetween } from './rows-between.ts'

/**
 * Deletes a portion of the events that are as old as `until`, and returns how many. They go from the beginning of the seals, and a
 * checkpoint records where these now begin. A row that was tampered with is deleted together with the next intact one: setting back
 * the time of events does not get them deleted.
 */
export async function expireEvents(deps: Deps<Tx>, expired: Expired): Promise<number> {
  const { db } = deps
  const chain = await AuditChain.findForUpdate(db)
  if (!chain) return 0
  const unsealed = chain.former_closed === 1 ? await AuditEvent.deleteFormerExpired(db, expired) : 0
  if (unsealed === expired.limit) return unsealed
  const beginning = await checkedBeginning(deps)
  const limit = expired.limit - unsealed
  if (beginning.batch === null) {
    // What a former version has left is compared before anything of it goes.
    if (!isFormerChecked(chain)) return unsealed
    const rows = await nextChained(deps, beginning.position + 1, limit)
    const last = lastExpired(deps, rows, beginning.seal, expired.until)
    if (last?.seal_position != null && last.seal !== null) {
      await recordBeginning(deps, { position: last.seal_position, seal: last.seal, batch: null, upto: null })
      return unsealed + (await AuditEvent.deleteChained(db, last.seal_position))
    }
    if (rows.length > 0 || chain.former_closed === 0) return unsealed
  }
  return unsealed + (await expireBatches(deps, chain, beginning, { ...expired, limit }))
}

/** The next rows of the former chain. If as many are missing, those after them. */
async function nextChained({ db }: Deps, from: number, limit: number): Promise<StoredEvent[]> {
  const rows = await AuditEvent.listChained(db, { from, below: from + limit, limit })
  return rows.length > 0 || !(await AuditEvent.hasChained(db)) ? rows : AuditEvent.listChained(db, { from, limit })
}

/** Where the seals begin. Throws if that is not what was written. */
export async function checkedBeginning(deps: Deps): Promise<Beginning> {
  const chain = await AuditChain.find(deps.db)
  if (chain) keysOfChain(deps, chain)
  const beginning = await readBeginning(deps)
  if (beginning.state !== 'whole')
    throw new Error('the beginning of the audit chain is not what was written; run audit verify for details')
  return beginning
}

/** The last intact row that has expired, before the first intact row that has not. */
function lastExpired({ auditProofs }: Deps, rows: readonly StoredEvent[], begin: string, until: number): StoredEvent | undefined {
  let last: StoredEvent | undefined
  let previous = begin
  for (const row of rows) {
    const isWhole = auditProofs.checkFormer(row, previous) === 'whole'
    if (isWhole && row.at > until) return last
    if (isWhole) last = row
    previous = row.seal ?? ''
  }
  return last
}

/** The months that are dropped as a whole: their events are neither deleted one by one nor before all of them have expired. */
export async function wholeMonths(db: Db, until: number): Promise<{ kept: Month[]; over: Month[] }> {
  const months = await listMonths(db)
  const sealed = sealedBy(await AuditChain.find(db))
  const end = firstIdAt(until)
  const kept: Month[] = []
  const over: Month[] = []
  for (const month of months) {
    if (month.to > end) kept.push(month)
    // What is not sealed, or not what the service wrote, is looked at row by row.
    else if (!(await AuditEvent.hasUnseen(db, month, sealed))) over.push(month)
  }
  return { kept, over }
}

type Previous = Pick<Batch, 'seal' | 'upto'>

/**
 * Deletes whole batches of which each intact event has expired. A batch that is not intact goes with the next intact one. The events
 * of a month that has a partition go with it.
 */
async function expireBatches(deps: Deps<Tx>, chain: Chain, beginning: Beginning, { until, limit }: Expired): Promise<number> {
  const { db } = deps
  const { batch: number, seal, upto } = beginning
  const start: Previous = { seal, upto: upto ?? firstSnapshot }
  let previous: Previous = number === null ? { ...start, seal: '' } : start
  const { kept, over } = await wholeMonths(db, until)
  const months = [...kept, ...over]
  const untilOf = ({ id }: StoredEvent) => (months.some(({ from, to }) => from <= id && id < to) ? 0 : until)
  let last: Batch | undefined
  for (const batch of await AuditBatch.listAfter(db, number ?? 0, limit)) {
    const state = await expiryOf(deps, previous, batch, untilOf)
    if (state === 'kept') break
    if (state === 'expired' && batch.number <= chain.batch) last = batch
    previous = batch
  }
  if (!last) return 0
  await recordBeginning(deps, { position: last.position, seal: last.seal, batch: last.number, upto: last.upto })
  await AuditBatch.deleteUpTo(db, last.number)
  return AuditEvent.deleteBetween(db, parseSnapshot(start.upto), parseSnapshot(last.upto))
}

/** `broken`: the batch or one of its rows is not what was written, and no intact row of it is younger than `until` says. */
export async function expiryOf(
  deps: Deps,
  previous: Previous,
  batch: Batch,
  until: (row: StoredEvent) => number,
): Promise<'expired' | 'kept' | 'broken'> {
  const seal = deps.auditProofs.beginBatch(batch.seal)
  let isIntact = seal !== undefined
  for await (const rows of rowsBetween(deps, parseSnapshot(previous.upto), parseSnapshot(batch.upto)))
    for (const row of rows) {
      const isWhole = deps.auditProofs.check(row, true) === 'whole'
      if (isWhole && row.at > until(row)) return 'kept'
      // A row that was refused is in the range of the batch, and not one of its events.
      if (isWhole) seal?.add(row.mac ?? '')
      isIntact &&= isWhole
    }
  return isIntact && seal?.over(previous.seal, batch) === batch.seal ? 'expired' : 'broken'
}
