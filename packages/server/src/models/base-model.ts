import { type Constructor, Model, type ModelObject, type Pojo, type QueryBuilderType } from 'objection'
import type { Db } from '../db/handle.ts'

/** `booleanColumns` hold 0 or 1 and are booleans in code. SQLite has no boolean, so both databases store an integer. */
export class BaseModel extends Model {
  static booleanColumns: readonly string[] = []

  /** Queries need a handle. No model has a default one. */
  declare static query: <M extends Model>(this: Constructor<M>, db: Db) => QueryBuilderType<M>

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

/** Deletes rows whose time in `column` is at most `until`. Returns their number. */
export async function deleteUntil<M extends BaseModel>(
  model: ModelOf<M>,
  db: Db,
  column: keyof M & string,
  { until, limit }: Pick<Expired, 'until' | 'limit'>,
): Promise<number> {
  return deleteByKey(model, db, db(model.tableName).where(column, '<=', until).limit(limit))
}
