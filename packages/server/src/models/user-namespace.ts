import { insertRows } from '../db/bulk.ts'
import type { Db, Tx } from '../db/handle.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { countByPool, listPoolsAfter } from './pool-names.ts'

export type UserNamespaceRow = Pick<UserNamespace, 'user_id' | 'namespace' | 'created_at'>

const tags = 'user_namespaces where true'

/** A pool tag: one of a user's pools besides the home pool. */
export class UserNamespace extends BaseModel {
  static override tableName = 'user_namespaces'
  static override idColumn = ['user_id', 'namespace']

  declare user_id: string
  declare namespace: string
  declare created_at: number

  static async insert(db: Tx, rows: readonly UserNamespaceRow[]): Promise<void> {
    await rowsOf(UserNamespace, db).insert(rows)
  }

  /** Inserts any number of tags. */
  static async insertBulk(db: Tx, rows: readonly UserNamespaceRow[]): Promise<void> {
    await insertRows(db, UserNamespace.tableName, rows)
  }

  static async delete(db: Tx, { user_id, namespace }: Pick<UserNamespace, 'user_id' | 'namespace'>): Promise<void> {
    await rowsOf(UserNamespace, db).where({ user_id, namespace }).delete()
  }

  static async deleteSome(db: Tx, userId: string, namespaces: readonly string[]): Promise<void> {
    await rowsOf(UserNamespace, db).where({ user_id: userId }).whereIn('namespace', namespaces).delete()
  }

  static async deleteOfUser(db: Tx, userId: string): Promise<void> {
    await rowsOf(UserNamespace, db).where({ user_id: userId }).delete()
  }

  /** Whether any user is tagged with the pool. */
  static async isPool(db: Db, namespace: string): Promise<boolean> {
    return (await rowsOf(UserNamespace, db).where({ namespace }).orderBy('user_id').first('user_id')) !== undefined
  }

  /** The pools that users are tagged with, by name. */
  static async listPools(db: Db, { after, most }: { after: string; most: number }): Promise<string[]> {
    return listPoolsAfter(db, tags, { after, most })
  }

  /** How many users are tagged with each of the pools. */
  static async countByPool(db: Db, names: readonly string[]): Promise<Map<string, number>> {
    return countByPool(db, tags, names)
  }
}
