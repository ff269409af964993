import type { Db } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FeedCursors, partsOfPlace, type Snapshot } from '../../lib/feed-cursors.ts'
import { Feed, type FeedRow, type FeedTable, listFrom, listPart } from '../../models/feed.ts'

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
  const horizon = Math.max(cursors.placeOfPosition(snapshot.xmin), cursors.placeOfPosition(cursors.origin.position))
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
