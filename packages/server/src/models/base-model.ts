import { type Constructor, Model, type ModelObject, type Pojo, type QueryBuilderType } from 'objection'
import type { Db } from '../db/handle.ts'

/** Columns that hold 0 or 1 and are booleans in code: SQLite has no boolean, so both databases store an integer. */
export class BaseModel extends Model {
  static booleanColumns: readonly string[] = []

  /** A query never runs but on a handle that is given. */
  declare static query: <M extends Model>(this: Constructor<M>, db: Db) => QueryBuilderType<M>

  override $parseDatabaseJson(json: Pojo): Pojo {
    const parsed = super.$parseDatabaseJson(json)
    for (const column of (this.constructor as typeof BaseModel).booleanColumns) {
      if (column in parsed) parsed[column] = parsed[column] === 1
    }
    return parsed
  }

  override $formatDatabaseJson(json: Pojo): Pojo {
    const formatted = super.$formatDatabaseJson(json)
    for (const column of (this.constructor as typeof BaseModel).booleanColumns) {
      if (column in formatted) formatted[column] = formatted[column] ? 1 : 0
    }
    return formatted
  }
}

/** The plain rows of a model's table: for what Objection would word otherwise, and where nothing needs more. */
export function rowsOf<M extends Model>(model: Constructor<M> & Pick<typeof Model, 'tableName'>, db: Db) {
  return db<ModelObject<M>>(model.tableName)
}
