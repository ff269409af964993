import { setImmediate as nextTurn } from 'node:timers/promises'
import { amongRequests } from '../../db/among-requests.ts'
import { dropMonths, listMonths, type Month } from '../../db/audit-months.ts'
import type { Db, Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { isCounting, type PersonalFacts, Position, type StoredEvent } from '../../lib/audit-proof.ts'
import type { Actor } from '../../lib/caller.ts'
import { firstSnapshot, parseSnapshot } from '../../lib/feed-cursors.ts'
import { isFormerChecked } from '../../lib/former-audit-check.ts'
import { RevocationNotes } from '../../lib/revocation-notes.ts'
import { firstIdAt } from '../../lib/uuid.ts'
import { AuditBatch, type Batch } from '../../models/audit-batch.ts'
import { AuditChain, type Chain } from '../../models/audit-chain.ts'
import { AuditEvent, type Erasable } from '../../models/audit-event.ts'
import type { Expired } from '../../models/base-model.ts'
import { type Beginning, keysOfChain, readBeginning, recordBeginning, rowsBetween, sealedBy } from './chain.ts'
import { recordNamedEvent, systemActor } from './record-event.ts'

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
async function checkedBeginning(deps: Deps): Promise<Beginning> {
  const chain = await AuditChain.findOnly(deps.db)
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
async function wholeMonths(db: Db, until: number): Promise<{ kept: Month[]; over: Month[] }> {
  const months = await listMonths(db)
  const sealed = sealedBy(await AuditChain.findOnly(db))
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
 * Deletes whole batches of which each intact event has expired. A batch that is not intact goes with the next intact one. The
 * events of a month that has a partition go with it.
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
  await AuditBatch.query(db).where('number', '<=', last.number).delete()
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
  const chain = await AuditChain.findOnly(deps.db)
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
  await AuditBatch.query(db).where('number', '<=', end.number).delete()
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

/** Rows per transaction. Other requests get the connection in between. */
const blankPortion = 100

interface Blanking {
  userId: string
  actor: Actor
  erasable: Erasable
  /** The personal facts to write in place of those of the row. */
  blank: (row: StoredEvent) => Partial<PersonalFacts>
}

/**
 * Removes personal facts from events, along with the salts that would let an attacker guess them, and records an `audit.erased`
 * event that lists the events. It reads and blanks a portion at a time under locks, so what another request has blanked meanwhile
 * stays blank. It takes the events in the order of their ids, so that two callers cannot deadlock.
 */
export async function blankEvents(deps: Deps<Pool>, { userId, actor, erasable, blank }: Blanking): Promise<void> {
  const chain = await AuditChain.findOnly(deps.db)
  if (chain) keysOfChain(deps, chain)
  // Leave out the audit reason: `user.erased` records it.
  const by = actor === systemActor ? actor : { ...actor, origin: { ...actor.origin, auditReason: undefined } }
  let events: StoredEvent[] = []
  do {
    const after = events.at(-1)
    events = await transaction(deps, async (deps) => {
      const rows = await AuditEvent.listErasableForUpdate(deps.db, erasable, { after, limit: blankPortion })
      const changed = rows.flatMap((row) => {
        const left = { ...row, ...blank(row) }
        const isSame = left.details === row.details && left.email === row.email && left.audit_reason === row.audit_reason
        return isSame ? [] : [{ left, verdict: deps.auditProofs.check(row, isPlaced(row)) }]
      })
      if (changed.length === 0) return rows
      const keepsMac = ({ left, verdict }: (typeof changed)[number]) => verdict === 'whole' && !isCounting(left)
      const idsOf = (isMarked: boolean) => changed.filter((each) => keepsMac(each) === isMarked).map(({ left }) => left.id)
      const details = { events: idsOf(true), unsealed: idsOf(false) }
      const erasedBy = await recordNamedEvent(deps, { event: 'audit.erased', actor: by, userId, details })
      const blanked = changed.map(({ left, verdict }) => ({ ...left, ...deps.auditProofs.erase(left, verdict, erasedBy) }))
      await AuditEvent.rewrite(deps.db, blanked, [
        ...(['details', 'email', 'audit_reason'] as const),
        ...(['salt', 'personal_digest', 'mac', 'erased_by', 'erased_mac'] as const),
      ])
      return rows
    })
  } while (events.length === blankPortion)
}

/** Whether it may be sealed. A row that still counts is not, nor one from before batches without a place in the former chain. */
function isPlaced(row: StoredEvent): boolean {
  return row.xid === Position.former ? row.seal_position !== null : !isCounting(row)
}
