import { type Constructor, Model, type ModelObject, type Pojo, type QueryBuilderType } from 'objection'
import type { Db } from '../db/handle.ts'

/** Columns that hold 0 or 1 and are booleans in code: SQLite has no boolean, so both databases store an integer. */
export class BaseModel extends Model {
  static booleanColumns: readonly string[] = []

  /** A query never runs but on a handle that is given. */
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

/** The plain rows of a model's table: for what Objection would word otherwise, and where nothing needs more. */
export function rowsOf<M extends Model>(model: Constructor<M> & Pick<typeof Model, 'tableName'>, db: Db) {
  return db<ModelObject<M>>(model.tableName)
}

/** What of a table may go: what had expired by `until`, `limit` rows of it at most. */
export interface Expired {
  now: number
  until: number
  limit: number
}

/** Deletes rows by their keys, which `some` leads to; says how many. */
export async function deleteByKey(
  model: Pick<typeof Model, 'tableName' | 'idColumn'>,
  db: Db,
  some: ReturnType<Db>,
): Promise<number> {
  const key = [model.idColumn].flat()
  return db(model.tableName).whereIn(key, some.select(key)).delete()
}
