import type { Db } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { only } from '../lib/collections.ts'
import { BaseModel } from './base-model.ts'

const catalogQuery = "select generation from generations where name = 'catalog'"
const catalogNow = new Statement<{ generation: string }>(catalogQuery)

/** The current generation, as a column for a statement that runs anyway. */
export const catalogGeneration = `(${catalogQuery}) as catalog_generation`

/** An id that changes whenever something that servers keep in memory changes. */
export class Generation extends BaseModel {
  static override tableName = 'generations'
  static override idColumn = 'name'

  declare name: 'catalog'
  declare generation: string

  static async ofCatalog(db: Db): Promise<string> {
    return only(await catalogNow.all(db, {})).generation
  }
}
