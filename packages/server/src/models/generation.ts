import type { Db } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import { only } from '../lib/collections.ts'
import { BaseModel } from './base-model.ts'
import type { ClientSecret } from './client-secret.ts'

const catalogQuery = "select generation from generations where name = 'catalog'"
const catalogNow = new Statement<{ generation: string }>(catalogQuery)

/** If no app has the secret, one row without it: an app that authenticates needs the generation all the same. */
const catalogWithSecret = new Statement<CatalogWithSecret>(`
  select c.generation, s.id as secret_id, s.app_id, s.last_used_at
  from generations c left join client_secrets s on s.hash = :hash where c.name = 'catalog'`)

/** The current generation with a client secret, or with nulls in its place. */
type CatalogWithSecret = { generation: string } & (
  | ({ secret_id: string } & Pick<ClientSecret, 'app_id' | 'last_used_at'>)
  | { secret_id: null; app_id: null; last_used_at: null }
)

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

  static async ofCatalogWithSecret(db: Db, hash: string): Promise<CatalogWithSecret> {
    return only(await catalogWithSecret.all(db, { hash }))
  }
}
