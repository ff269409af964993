import { Model, type Pojo } from 'objection'

/** Columns that hold 0 or 1 and are booleans in code: SQLite has no boolean, so both databases store an integer. */
export class BaseModel extends Model {
  static booleanColumns: readonly string[] = []

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
