import type { Db, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FeedCursors, laterOrigin, partsOfPlace, type Snapshot } from '../../lib/feed-cursors.ts'
import { Feed, type FeedRow, type FeedTable, forgetTransactionsFrom, lineageOf, listFrom, listPart } from '../../models/feed.ts'
import { Revocation, revocationFeed } from '../../models/revocation.ts'
import { userChangeFeed } from '../../models/user-change.ts'

export interface FeedPage<Row> {
  /** Each with the cursor from which to continue after it and those before it. */
  rows: (FeedRow<Row> & { cursor: number })[]
  /** Where to continue. Everything up to here was returned, or is for others. */
  cursor: number
  hasMore: boolean
  /** The cursor of the caller is of another database, or among deleted rows, so this page does not begin where the caller stood. */
  isReset: boolean
  /** The page has every row of its kind that this sees, from the cursor of the caller on, unless more pages follow. */
  snapshot: Snapshot
  /** No transaction can write a row any more before the place where the page ends. */
  isFinal: boolean
}

interface Reading {
  since: number | undefined
  limit: number
  narrow: (rows: ReturnType<Db>) => ReturnType<Db>
}

/**
 * The rows of a feed from a cursor on. A cursor is a *horizon*: every transaction below it has ended when it is given, so nothing
 * can appear there later. Rows above are returned as soon as they are visible, and again to a reader that comes back before the
 * horizon has passed them. A long transaction holds up the horizon, but no row.
 */
export async function readFeed<Row>(deps: Deps, table: FeedTable, { since, limit, narrow }: Reading): Promise<FeedPage<Row>> {
  // Before the rows, so that all below its horizon is in them.
  const { cursors, snapshot, forgotten } = await Feed.getState(deps.db, table)
  const first = Math.max(cursors.first, forgotten)
  const horizon = cursors.horizonOf(snapshot)
  const isLater = since !== undefined && cursors.placeOfCursor(since).place > horizon
  if (isLater)
    deps.logger.warn(
      { since },
      'a consumer has a newer cursor than the database: run gatehouse finish-restore if the database was restored',
    )
  const isReset = since !== undefined && (isLater || since < first)
  const start = cursors.placeOfCursor(since === undefined || isReset ? first : since)
  const said = { isReset, snapshot }
  const { place } = start
  const andLater = place >= horizon
  // The horizon may have passed the place since the reader was given its first parts. What has appeared in them begins it again.
  const part = start.isFinal === andLater ? 0 : start.part
  if (part === 0) {
    const read = await listFrom<Row>(deps.db, table, { cursors, place, limit: limit + 1 }, narrow)
    const next = read[limit]
    const end = next === undefined ? Math.max(place, horizon) : Math.min(cursors.placeOf(next), horizon)
    if (next === undefined || end > place) {
      const rows = next === undefined ? read : read.filter((row) => cursors.placeOf(row) < end)
      const hasMore = next !== undefined
      return { ...said, rows: withCursors(rows, cursors, end), cursor: cursors.cursorOf(end), hasMore, isFinal: hasMore }
    }
  }
  // More rows than a page holds are in one place, or above the horizon. Each part of them is a page.
  const found = await listPart<Row>(deps.db, table, { cursors, place, part, andLater }, narrow)
  const cursor = cursors.cursorOf(place)
  const rows = found.map((row) => ({ ...row, cursor }))
  if (part + 1 < partsOfPlace) {
    const next = cursors.cursorOf(place, part + 1, !andLater)
    return { ...said, rows, cursor: next, hasMore: true, isFinal: false }
  }
  return { ...said, rows, cursor: cursors.cursorOf(andLater ? place : place + 1), hasMore: !andLater, isFinal: !andLater }
}

/** Rows in their order, each with the cursor from which to continue after it: no later one may be skipped, nor be above `end`. */
export function withCursors<Row>(
  rows: readonly FeedRow<Row>[],
  cursors: FeedCursors,
  end: number,
): (FeedRow<Row> & { cursor: number })[] {
  return rows.map((row, index) => {
    const next = rows[index + 1]
    return { ...row, cursor: cursors.cursorOf(next === undefined ? end : Math.min(cursors.placeOf(next), end)) }
  })
}

const feeds = [revocationFeed, userChangeFeed]

/** Restarts the feeds, with an earliest time of issue of all tokens. Readers with an older cursor forget what they know. */
export async function restartFeeds(deps: Deps<Tx>, minIat: number): Promise<void> {
  for (const feed of feeds) {
    await Feed.lock(deps.db, feed)
    await beginLater(deps, feed, 0)
  }
  await Revocation.startOver(deps.db, { minIat, at: deps.clock() })
  announce(deps)
}

/** Records which history of commits the feeds are of. False if one of them is of another than the database continues. */
export async function adoptFeeds(db: Db): Promise<boolean> {
  let areOfThis = true
  for (const feed of feeds) areOfThis = (await Feed.adopt(db, feed)) && areOfThis
  return areOfThis
}

/**
 * Continues the feeds after a failover, or in another Postgres. That one may lack the last commits, and give their numbers to other
 * transactions. So all cursors are later from now on, and readers with an older one start over. If several servers call it, only
 * the first one changes anything. `known` is the last cursor of a revocation that this server has given.
 */
export async function continueFeeds(deps: Deps<Tx>, known: number): Promise<void> {
  for (const feed of feeds) {
    await Feed.lock(deps.db, feed)
    const { lineage } = await Feed.getState(deps.db, feed)
    if (lineage !== lineageOf(deps.db)) await beginLater(deps, feed, feed === revocationFeed ? known : 0)
  }
  announce(deps)
}

async function beginLater({ db, clock }: Deps<Tx>, feed: FeedTable, known: number): Promise<void> {
  const { cursors, snapshot } = await Feed.getState(db, feed)
  await forgetTransactionsFrom(db, feed, snapshot.xmax)
  const now = { horizon: snapshot.xmax, position: snapshot.xmin, at: clock(), known }
  await Feed.begin(db, feed, laterOrigin(cursors.origin, now))
}

/**
 * Wakes the readers of the feeds of this server and of others, after the commit where there is a transaction. They also look at
 * their streams again, which end when the keys of their app have changed.
 */
export function announce(deps: Deps): void {
  const wake = () => deps.revocationHub.announce()
  if (deps.afterCommit) deps.afterCommit.push(wake)
  else wake()
}
