import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Deps } from '../../deps.ts'
import { type BatchSeal, contentOf, endOf, isAdopted, type StoredEvent, tagLength, tagOf } from '../../lib/audit-proof.ts'
import { firstSnapshot, parseSnapshot, type Snapshot, sees } from '../../lib/feed-cursors.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { type Beginning, contentsBetween, rowsBetween, type SealPlace } from './chain.ts'
import { changedHead, faultOf, faultOfErasure, faultOfHead, listErased, removedAt } from './faults.ts'
import type { AuditFault, VerifiedPage } from './present.ts'

/** Events per page, more or less: a tenth of a second, and some megabytes on SQLite. Batches are not divided. */
const pageSize = 12_000
/** How many rows that are in no batch are read before a page ends: somebody may have inserted millions. */
const mostForeign = 10_000

interface Range {
  /** The number of the batch that was compared last. */
  after: number
  known: SealPlace | undefined
  /** Whether somebody noted that number, and `known` with it or later. Otherwise an earlier page has compared what is before it. */
  isNoted: boolean
}

type Previous = Pick<Batch, 'number' | 'position' | 'seal' | 'upto'>

/** Compares the next batches with their events. */
export async function verifyBatches(
  deps: Deps,
  chain: Chain,
  beginning: Beginning,
  { after, known, isNoted }: Range,
): Promise<VerifiedPage> {
  const page: VerifiedPage = { checked: 0, adopted: 0, unsealed: 0, fault: null, chain, next_cursor: null }
  const previous = await previousOf(deps, chain, beginning, after)
  if (!previous) return { ...page, fault: batchFault('removed', after, null) }
  // Seals that were started over reach the number with more events. The noted end is nowhere in what would be compared.
  if (isNoted && after > 0 && previous.number === after && known && known.position < previous.position)
    return { ...page, fault: changedHead(known.position) }
  const batches = await AuditBatch.listAfter(deps.db, previous.number, pageSize)
  // Batches that were written since the page began have moved the end too.
  const now = await AuditChain.findOnly(deps.db)
  page.fault =
    (now ? faultOfHead(deps, now) : changedHead(null, 'removed')) ??
    faultOfKnown(chain, previous, batches, known) ??
    faultOfOrder(previous, batches) ??
    (now ? faultOfEnd({ before: chain, now }, batches.at(-1) ?? previous, batches.length === 0, known) : null)
  if (page.fault) return page
  if (batches.length === 0)
    return { ...page, next_cursor: now?.batch === previous.number ? 'unsealed.' : `batches.${previous.number}` }
  await compareEvents(deps, previous, batches, page)
  return page.fault ? page : { ...page, next_cursor: `batches.${batches.at(-1)?.number}` }
}

/** The batch with this number, or what stands for it at the beginning. Undefined if it is gone. */
export async function previousOf({ db }: Deps, chain: Chain, beginning: Beginning, after: number): Promise<Previous | undefined> {
  const { batch: number, position, seal, upto } = beginning
  if (number !== null && upto !== null && number >= after) return { number, position, seal, upto }
  return after === 0
    ? { number: 0, position: chain.former_end, seal: '', upto: firstSnapshot }
    : AuditBatch.find(db, { number: after })
}

/** An end that somebody has noted is that of a batch. */
function faultOfKnown(
  chain: Chain,
  previous: Previous,
  batches: readonly Batch[],
  known: SealPlace | undefined,
): AuditFault | null {
  if (!known) return null
  const floor = previous.number === 0 ? chain.position : previous.position
  const isHere = known.position > floor && known.position <= (batches.at(-1) ?? previous).position
  const isSeen = [previous, ...batches].some(({ position, seal }) => position === known.position && seal === known.seal)
  const isOfPrevious = previous.number > 0 && known.position === previous.position
  return (isHere || isOfPrevious) && !isSeen ? changedHead(known.position) : null
}

/** SQLite stores bytes in a column of texts. */
function hasTexts({ upto, seal, tags = '' }: Previous & Partial<Batch>): boolean {
  return [upto, seal, tags].every((value) => typeof value === 'string')
}

/** Whether the batches follow one another. */
export function faultOfOrder(previous: Previous, batches: readonly Batch[]): AuditFault | null {
  let { number, position } = previous
  if (!hasTexts(previous)) return batchFault('changed', number, position)
  for (const batch of batches) {
    if (!hasTexts(batch)) return batchFault('changed', batch.number, position + 1)
    if (batch.number !== number + 1) return batchFault('removed', number + 1, position + 1)
    if (batch.position !== position + batch.count || batch.tags.length !== tagLength * batch.count)
      return batchFault('changed', batch.number, position + 1)
    number = batch.number
    position = batch.position
  }
  return null
}

/**
 * `last` is the last batch of the page. With `isLast`, there was none after it. The end was read before the batches and after them,
 * since other servers go on sealing.
 */
function faultOfEnd(
  { before, now }: { before: Chain; now: Chain },
  last: Previous,
  isLast: boolean,
  known: SealPlace | undefined,
): AuditFault | null {
  const isEnd = ({ batch, batch_seal, batch_position }: Chain) =>
    last.number !== batch || batch === 0 || (last.seal === batch_seal && last.position === batch_position)
  if (last.number > now.batch || !isEnd(before) || !isEnd(now)) return changedHead(last.position)
  if (!isLast) return null
  if (last.number < before.batch) return batchFault('removed', last.number + 1, last.position + 1)
  const { position } = endOf(now)
  return known && known.position > position ? removedAt(position + 1) : null
}

function batchFault(kind: AuditFault['kind'], batch: number, position: number | null): AuditFault {
  return { kind, subject: 'batch', position, batch, event: null }
}

/** What was found of a batch so far. */
interface Progress {
  batch: Batch
  previous: Previous
  upto: Snapshot
  contents: (string | null)[]
  macs: (string | null)[]
}

/**
 * Compares the events of all batches with the digests that the seals cover. Where they differ, each event is compared with its
 * proof: it may have been erased since.
 */
async function compareEvents(deps: Deps, previous: Previous, batches: readonly Batch[], page: VerifiedPage): Promise<void> {
  const all = batches.map((batch, index): Progress => {
    const before = batches[index - 1] ?? previous
    return { batch, previous: before, upto: parseSnapshot(batch.upto), contents: [], macs: [] }
  })
  const last = all.at(-1)
  if (!last) return
  const most = last.batch.position - previous.position + mostForeign
  let read = 0
  for await (const rows of contentsBetween(deps, parseSnapshot(previous.upto), last.upto)) {
    for (const { xid, mac, content } of rows) {
      const progress = firstThatSees(all, xid)
      progress?.contents.push(content)
      progress?.macs.push(mac)
    }
    read += rows.length
    if (read > most) break
    // SQLite answers within the same turn of the event loop.
    await nextTurn()
  }
  for (const progress of all) {
    if (isWhole(deps, progress)) page.checked += progress.batch.count
    else await compareBatch(deps, progress.previous, progress.batch, page)
    if (page.fault) return
  }
}

/** Whether its events are exactly those that were sealed. */
function isWhole({ auditProofs }: Deps, { batch, previous, contents, macs }: Progress): boolean {
  if (!batch.content || contents.length !== batch.count || contentOf(contents) !== batch.content) return false
  const seal = auditProofs.beginBatch(batch.seal)
  seal?.add(...macs.map((mac) => mac ?? ''))
  return seal?.over(previous.seal, batch) === batch.seal
}

/** What was found of the events of a batch so far. */
interface Comparison {
  batch: Batch
  seal: BatchSeal | undefined
  found: number
}

/** Compares each event of a batch with its proof, and then the batch. Calls `onWhole` with each event before the first fault. */
export async function compareBatch(
  deps: Deps,
  previous: Previous,
  batch: Batch,
  page: Pick<VerifiedPage, 'checked' | 'adopted' | 'fault'>,
  onWhole?: (event: StoredEvent) => void,
): Promise<void> {
  const comparison: Comparison = { batch, seal: deps.auditProofs.beginBatch(batch.seal), found: 0 }
  for await (const rows of rowsBetween(deps, parseSnapshot(previous.upto), parseSnapshot(batch.upto))) {
    const listed = await listErased(deps, rows)
    for (const row of rows) {
      page.checked += 1
      if (isAdopted(row)) page.adopted += 1
      const isClean = row.seal === null && row.seal_position === null
      page.fault =
        faultOf(row, isClean ? deps.auditProofs.check(row, true) : 'changed', batch.number) ??
        (await faultOfErasure(deps, row, listed)) ??
        faultOfPlace(comparison, row)
      if (page.fault) return
      onWhole?.(row)
    }
  }
  page.fault = faultOfBatch(comparison, previous.seal)
}

/** A transaction that one snapshot sees is seen by all later ones. */
function firstThatSees(all: readonly Progress[], xid: number): Progress | undefined {
  let [low, high] = [0, all.length - 1]
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    if (sees(all[middle]!.upto, xid)) high = middle
    else low = middle + 1
  }
  return all[low]
}

/** Whether it is the event that comes next in the batch. */
function faultOfPlace(progress: Comparison, row: StoredEvent): AuditFault | null {
  const { batch, found } = progress
  const tag = tagOf(row.mac ?? '')
  if (batch.tags.startsWith(tag, found * tagLength)) {
    progress.seal?.add(row.mac ?? '')
    progress.found += 1
    return null
  }
  const isLater = positionsOf(batch.tags, tag).some((index) => index > found)
  return isLater ? missingFrom(progress) : { kind: 'inserted', subject: 'event', position: null, batch: batch.number, event: row }
}

function positionsOf(tags: string, tag: string): number[] {
  const found: number[] = []
  for (let at = tags.indexOf(tag); at >= 0; at = tags.indexOf(tag, at + 1)) if (at % tagLength === 0) found.push(at / tagLength)
  return found
}

function missingFrom({ batch, found }: Comparison): AuditFault {
  return removedAt(batch.position - batch.count + found + 1, batch.number)
}

function faultOfBatch(progress: Comparison, previous: string): AuditFault | null {
  const { batch, seal, found } = progress
  if (found < batch.count) return missingFrom(progress)
  if (!seal) return batchFault('unknown_key', batch.number, batch.position)
  return seal.over(previous, batch) === batch.seal ? null : batchFault('changed', batch.number, batch.position)
}
