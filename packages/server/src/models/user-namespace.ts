import { insertRows } from '../db/bulk.ts'
import type { Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { PoolSize } from './pool-size.ts'

export type UserNamespaceRow = Pick<UserNamespace, 'user_id' | 'namespace' | 'created_at'>

/** A pool tag: one of a user's pools besides the home pool. */
export class UserNamespace extends BaseModel {
  static override tableName = 'user_namespaces'
  static override idColumn = ['user_id', 'namespace']

  declare user_id: string
  declare namespace: string
  declare created_at: number

  /** Sizes of pools are noted with each tag. */
  declare static insert: never
  declare static update: never
  declare static remove: never

  /** Inserts any number of tags. */
  static async add(db: Tx, rows: readonly UserNamespaceRow[]): Promise<void> {
    await insertRows(db, UserNamespace.tableName, rows)
    await note(db, rows, 1)
  }

  /** Deletes these tags of a user, or all. */
  static async deleteOfUser(db: Tx, userId: string, namespaces?: readonly string[]): Promise<void> {
    const tags = rowsOf(UserNamespace, db).where({ user_id: userId })
    if (namespaces) tags.whereIn('namespace', namespaces)
    await note(db, await tags.clone().select('namespace'), -1)
    await tags.delete()
  }
}

async function note(db: Tx, tags: readonly Pick<UserNamespace, 'namespace'>[], tagged: 1 | -1): Promise<void> {
  await PoolSize.note(
    db,
    tags.map(({ namespace }) => ({ namespace, tagged })),
  )
}
