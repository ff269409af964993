import type { Db } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { only } from '../lib/only.ts'
import { BaseModel } from './base-model.ts'

const idQuery = 'select id from service'
const idOfService = new Statement<{ id: string }>(idQuery)

/** Which database this is, as a column of a statement that is run anyway. */
export const serviceIdColumn = `(${idQuery}) as service_id`

/** The service as a whole: one row per database, made with it. */
export class Service extends BaseModel {
  static override tableName = 'service'

  declare id: string
  /** Tokens with a lower `iat` are dead, whosever they are. */
  declare min_iat: number

  static async getId(db: Db): Promise<string> {
    return only(await idOfService.all(db, {})).id
  }
}
