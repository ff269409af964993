import type { Db, Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/collections.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import type { FeedTable } from './feed.ts'

export const userChangeFeed: FeedTable = {
  name: 'user_changes',
  key: 'number',
  // Rows are kept for 30 days.
  unitMs: 1_000,
  spread: () => 'number',
}

/** The columns of a user that apps learn changes of, and when they changed. */
export interface ToldChanges {
  email?: string
  first_name?: string | null
  last_name?: string | null
  status?: 'active' | 'suspended' | 'deleted'
  updated_at: number
}

/** Something that an app must learn about one of its users. It holds no value: readers get those of the moment when they read. */
export class UserChange extends BaseModel {
  static override tableName = 'user_changes'
  static override idColumn = 'number'

  declare number: number
  /** Postgres: the transaction that wrote the row. */
  declare xid: number
  declare type: 'email_changed' | 'names_changed' | 'user_deleted' | 'grant_ended'
  declare user_id: string
  declare app_id: string
  declare at: number

  /** Writes down, for each app of a user, how `changes` differ from the user's row as it is. */
  static async writeBefore(db: Tx, userId: string, changes: Partial<ToldChanges>): Promise<void> {
    const { email, first_name, last_name, status, updated_at: at = 0 } = changes
    const write = async (type: UserChange['type'], ofApps: (grants: ReturnType<Db>) => ReturnType<Db>) => {
      const grants = db('user_apps as g').join('users as u', 'u.id', 'g.user_id').where('u.id', userId)
      const rows = ofApps(grants.whereRaw("u.status <> 'deleted'")).select(
        db.raw('?, g.user_id, g.app_id, cast(? as bigint)', [type, at]),
      )
      await db.into(db.raw('user_changes (type, user_id, app_id, at)')).insert(rows)
    }
    const ofOpenApps = (grants: ReturnType<Db>) =>
      grants.where('g.status', 'active').where((any) => any.whereNull('g.expires_at').orWhere('g.expires_at', '>', at))
    if (email !== undefined) await write('email_changed', (grants) => ofOpenApps(grants).where('u.email', '<>', email))
    const names = Object.entries({ first_name, last_name }).filter(([, name]) => name !== undefined)
    if (names.length > 0)
      await write('names_changed', (grants) =>
        ofOpenApps(grants).where((any) => {
          for (const [column, name] of names) any.orWhereRaw("coalesce(??, '') <> ?", [`u.${column}`, name ?? ''])
        }),
      )
    // Apps that the user has left may still know the user.
    if (status === 'deleted') await write('user_deleted', (grants) => grants)
  }

  static async writeEndedGrants(db: Tx, grants: readonly Pick<UserChange, 'user_id' | 'app_id'>[], at: number): Promise<void> {
    const rows = grants.map(({ user_id, app_id }) => ({ type: 'grant_ended' as const, user_id, app_id, at }))
    for (const chunk of chunksOf(rows)) await rowsOf(UserChange, db).insert(chunk)
  }
}
