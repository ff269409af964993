import { type Db, isPostgres, primaryOf, type Tx } from '../db/handle.ts'
import { forUpdate } from '../db/locks.ts'
import { only } from '../lib/collections.ts'
import { FeedCursors, type Origin, type Placed, parseSnapshot, partsOfPlace, type Snapshot } from '../lib/feed-cursors.ts'
import { BaseModel, rowsOf } from './base-model.ts'

/** A table whose rows are read in the order in which they become final. */
export interface FeedTable {
  name: string
  /** Its number of rows, which is their position on SQLite. */
  key: string
  /** How finely rows from before the origin are told apart, by their `at`. */
  unitMs: number
  /** SQL for a whole number that differs from row to row, and never changes. */
  spread(db: Db): string
}

interface FeedState {
  cursors: FeedCursors
  /** What is visible. A later statement may see more. */
  snapshot: Snapshot
  lineage: string | null
  /** Earlier cursors begin among rows that were deleted. 0 if that does not matter to readers. */
  forgotten: number
}

type Query = ReturnType<Db>
export type FeedRow<Row> = Row & Placed

/** Where the cursors of a feed begin. */
export class Feed extends BaseModel {
  static override tableName = 'feeds'
  static override idColumn = 'name'

  declare name: string
  declare cursor: number
  declare position: number
  declare at: number
  /** The history of commits that the positions are of. Null until a server has looked. */
  declare lineage: string | null
  declare forgotten: number

  static async getState(db: Db, { name, unitMs }: FeedTable): Promise<FeedState> {
    const snapshot = isPostgres(db)
      ? db.raw('pg_current_snapshot()::text as snapshot')
      : db.raw('(select coalesce(max(seq), 0) + 1 from sqlite_sequence where name = ?) as snapshot', [name])
    const found: (Feed & { snapshot: string | number })[] = await db(Feed.tableName).where({ name }).select('*', snapshot)
    const row = only(found)
    const text = String(row.snapshot)
    return {
      cursors: new FeedCursors(row, unitMs),
      snapshot: parseSnapshot(isPostgres(db) ? text : `${text}:${text}:`),
      lineage: row.lineage,
      forgotten: row.forgotten,
    }
  }

  /** Records that the positions are of the history that `db` continues. False if they are of another one. */
  static async adopt(db: Db, { name }: FeedTable): Promise<boolean> {
    const lineage = lineageOf(db)
    if (lineage === null) return true
    const taken = await rowsOf(Feed, db)
      .where({ name })
      .where((same) => same.whereNull('lineage').orWhere({ lineage }))
      .update({ lineage })
    return taken > 0
  }

  /** Makes other transactions that lock the feed wait until this one ends. */
  static async lock(db: Tx, { name }: FeedTable): Promise<void> {
    await forUpdate(db, rowsOf(Feed, db).where({ name }))
  }

  /** Begins with cursors above all that were given, including those that the database has lost. */
  static async begin(db: Tx, { name }: FeedTable, origin: Origin): Promise<void> {
    const { cursor, position, at } = origin
    await rowsOf(Feed, db)
      .where({ name })
      .update({ cursor, position, at, lineage: lineageOf(db) })
  }
}

/**
 * Makes readers start over whose cursor is among the rows written up to `until`. Those that are reading now still need these rows,
 * so delete them later.
 */
export async function forgetUntil(db: Db, table: FeedTable, until: number): Promise<void> {
  const { cursors, snapshot, forgotten } = await Feed.getState(db, table)
  const [row]: { newest: number | null }[] = await db(table.name)
    .where('at', '<=', until)
    .max({ newest: positionIn(db, table) })
  const newest = row?.newest ?? null
  if (newest === null) return
  const isFormer = newest < cursors.origin.position
  const place = isFormer ? cursors.placeOf({ position: newest, at: until }) : cursors.placeOfPosition(newest) + 1
  const horizon = cursors.horizonOf(snapshot)
  const reached = cursors.cursorOf(Math.min(place, horizon))
  if (reached > forgotten)
    await rowsOf(Feed, db).where({ name: table.name }).where('forgotten', '<', reached).update({ forgotten: reached })
}

/** Postgres: forgets the transactions of rows that this history of commits has not come to. They are of another one. */
export async function forgetTransactionsFrom(db: Tx, { name }: FeedTable, position: number): Promise<void> {
  if (isPostgres(db)) await db(name).where('xid', '>=', position).update({ xid: 0 })
}

/** Which history of commits the database continues. Null on SQLite, and if the engine does not report it. */
export function lineageOf(db: Db): string | null {
  const { cluster, timeline } = primaryOf(db)?.lineage ?? {}
  return cluster === undefined ? null : `${cluster}/${timeline}`
}

/** All rows of a feed, with their `position`. */
function rowsOfFeed(db: Db, table: FeedTable): Query {
  return db(table.name).select('*', { position: positionIn(db, table) })
}

function positionIn(db: Db, { key }: FeedTable): string {
  return isPostgres(db) ? 'xid' : key
}

/** Rows that `seen` does not see, by position; at most `limit`. */
export async function listUnseen<Row>(db: Db, table: FeedTable, seen: Snapshot, limit: number): Promise<FeedRow<Row>[]> {
  const position = positionIn(db, table)
  const rows = () => rowsOfFeed(db, table).orderBy([position, table.key]).limit(limit)
  const later: FeedRow<Row>[] = await rows().where(position, '>=', seen.xmax)
  if (seen.running.length === 0) return later
  const former: FeedRow<Row>[] = await rows().whereIn(position, [...seen.running])
  return [...former, ...later].slice(0, limit)
}

/** The highest position of a row, or 0. */
export async function newestPosition(db: Db, table: FeedTable): Promise<number> {
  const [row]: { newest: number | null }[] = await db(table.name).max({ newest: positionIn(db, table) })
  return row?.newest ?? 0
}

/** All rows of one position. */
export async function listOfPosition<Row>(db: Db, table: FeedTable, position: number): Promise<FeedRow<Row>[]> {
  return rowsOfFeed(db, table).where(positionIn(db, table), position)
}

/** Rows from a place on, in the order of their places; at most `limit`. */
export async function listFrom<Row>(
  db: Db,
  table: FeedTable,
  { cursors, place, limit }: { cursors: FeedCursors; place: number; limit: number },
  narrow: (rows: Query) => Query,
): Promise<FeedRow<Row>[]> {
  const position = positionIn(db, table)
  const { origin } = cursors
  const from = cursors.positionOf(place)
  const rows = () => narrow(rowsOfFeed(db, table)).limit(limit)
  const former: FeedRow<Row>[] =
    from === undefined
      ? await rows()
          .where(position, '<', origin.position)
          .where('at', '>=', cursors.timesOf(place).from)
          .orderBy(['at', table.key])
      : []
  if (former.length === limit) return former
  const later: FeedRow<Row>[] = await rows()
    .where(position, '>=', Math.max(from ?? 0, origin.position))
    .orderBy([position, table.key])
    .limit(limit - former.length)
  return [...former, ...later]
}

/** The rows of a place, or of it and all later ones, that fall into one of `partsOfPlace` parts. */
export async function listPart<Row>(
  db: Db,
  table: FeedTable,
  { cursors, place, part, andLater }: { cursors: FeedCursors; place: number; part: number; andLater: boolean },
  narrow: (rows: Query) => Query,
): Promise<FeedRow<Row>[]> {
  const position = positionIn(db, table)
  const first = cursors.positionOf(place)
  const { from, to } = cursors.timesOf(place)
  const rows = narrow(rowsOfFeed(db, table)).whereRaw(`(${table.spread(db)}) & ${partsOfPlace - 1} = ?`, [part])
  if (first !== undefined) return rows.where(position, andLater ? '>=' : '=', first)
  return rows.where(position, '<', cursors.origin.position).where('at', '>=', from).where('at', '<', to)
}
