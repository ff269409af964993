// biome-ignore-all lint/complexity/noThisInStatic: `this` is the model that a query is asked of

import { type Constructor, Model, type ModelObject, type PartialModelObject, type Pojo, type QueryBuilderType } from 'objection'
import type { Db, Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/collections.ts'

type Scalar = string | number | boolean | null

/** Columns with the values that a row must have there. */
export type Where<M> = { [Column in keyof M as NonNullable<M[Column]> extends Scalar ? Column : never]?: M[Column] }

/** A row as it is stored. */
type NewRow<M> = { [Column in keyof M as M[Column] extends Scalar ? Column : never]?: M[Column] }

/** `booleanColumns` hold 0 or 1 and are booleans in code. SQLite has no boolean, so both databases store an integer. */
export class BaseModel extends Model {
  static booleanColumns: readonly string[] = []
  static override useLimitInFirst = true

  /** Queries need a handle. No model has a default one. */
  declare static query: <M extends Model>(this: Constructor<M>, db: Db) => QueryBuilderType<M>

  /** One row, or undefined. */
  static find<M extends BaseModel>(this: ModelOf<M>, db: Db, where: Where<M>) {
    return this.query(db).findOne(stored(where))
  }

  /** In any order, unless the caller adds one. */
  static list<M extends BaseModel>(this: ModelOf<M>, db: Db, where: Where<M>) {
    return this.query(db).where(stored(where))
  }

  static async insert<M extends BaseModel>(this: ModelOf<M>, db: Tx, row: PartialModelObject<M>): Promise<void> {
    await this.query(db).insert(row)
  }

  /** Inserts the rows whose `unique` columns no row has. Returns how many. Of several at once, one inserts. */
  static async insertNew<M extends BaseModel>(
    this: ModelOf<M>,
    db: Tx,
    rows: readonly NewRow<M>[],
    unique?: (keyof M & string)[],
  ): Promise<number> {
    const columns: string[] = unique ?? [this.idColumn].flat()
    let inserted = 0
    // Plain rows: Objection makes a model of each, and inserts one at a time on SQLite.
    for (const chunk of chunksOf(rows))
      inserted += (await db(this.tableName).insert(chunk).onConflict(columns).ignore().returning(columns)).length
    return inserted
  }

  /** Returns the number of rows. Throws if `where` is empty. */
  static async update<M extends BaseModel>(
    this: ModelOf<M>,
    db: Tx,
    where: Where<M>,
    changes: PartialModelObject<M>,
  ): Promise<number> {
    const rows: number = await this.query(db).where(narrowing(where)).patch(changes)
    return rows
  }

  /** Returns the number of rows. Throws if `where` is empty. */
  static async remove<M extends BaseModel>(this: ModelOf<M>, db: Tx, where: Where<M>): Promise<number> {
    const rows: number = await this.query(db).where(narrowing(where)).delete()
    return rows
  }

  override $parseDatabaseJson(json: Pojo): Pojo {
    const parsed = super.$parseDatabaseJson(json)
    for (const column of booleanColumnsOf(this)) {
      if (column in parsed) parsed[column] = parsed[column] === 1
    }
    return parsed
  }

  override $formatDatabaseJson(json: Pojo): Pojo {
    const formatted = super.$formatDatabaseJson(json)
    for (const column of booleanColumnsOf(this)) {
      if (column in formatted) formatted[column] = formatted[column] ? 1 : 0
    }
    return formatted
  }
}

/** The columns as the database compares them: SQLite refuses booleans. */
function stored(where: object): Record<string, Scalar> {
  return Object.fromEntries(
    Object.entries(where).map(([column, value]) => [column, typeof value === 'boolean' ? Number(value) : value]),
  )
}

function narrowing(where: object): Record<string, Scalar> {
  if (Object.keys(where).length === 0) throw new Error('a change of all rows must be written as a query')
  return stored(where)
}

function booleanColumnsOf(model: BaseModel): readonly string[] {
  return (model.constructor as typeof BaseModel).booleanColumns
}

export type ModelOf<M extends BaseModel> = Constructor<M> & Pick<typeof BaseModel, 'query' | 'tableName' | 'idColumn'>

/** A knex query for the plain rows of a model, where Objection adds nothing. */
export function rowsOf<M extends Model>(model: Constructor<M> & Pick<typeof Model, 'tableName'>, db: Db) {
  return db<ModelObject<M>>(model.tableName)
}

/** Selects rows to delete: those that had expired by `until`, at most `limit` of them. */
export interface Expired {
  now: number
  until: number
  limit: number
}

/** Deletes the rows whose keys `some` selects. Returns their number. */
export async function deleteByKey(
  model: Pick<typeof Model, 'tableName' | 'idColumn'>,
  db: Db,
  some: ReturnType<Db>,
): Promise<number> {
  const key = [model.idColumn].flat()
  return db(model.tableName).whereIn(key, some.select(key)).delete()
}

/** Deletes rows that are `where` and whose time in `column` is at most `until`. Returns their number. */
export async function deleteUntil<M extends BaseModel>(
  model: ModelOf<M>,
  db: Db,
  { column, where = {} }: { column: keyof M & string; where?: Where<M> },
  { until, limit }: Pick<Expired, 'until' | 'limit'>,
): Promise<number> {
  return deleteByKey(model, db, db(model.tableName).where(where).where(column, '<=', until).limit(limit))
}
