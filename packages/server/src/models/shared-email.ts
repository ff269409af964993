import type { Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/collections.ts'
import { BaseModel, rowsOf } from './base-model.ts'

const shared = "select email from users where status <> 'deleted'"
const all = `${shared} group by email having count(*) > 1`

/**
 * An address that several users have, each in a pool of their own. Kept, since finding them among all users would read every
 * address.
 */
export class SharedEmail extends BaseModel {
  static override tableName = 'shared_emails'
  static override idColumn = 'email'

  declare email: string

  /** After users have got these addresses. The caller holds the lock of each. */
  static async add(db: Tx, emails: readonly string[]): Promise<void> {
    for (const chunk of chunksOf(emails)) {
      const marks = chunk.map(() => '?').join()
      const found = `${shared} and email in (${marks}) group by email having count(*) > 1`
      await db.raw(`insert into shared_emails (email) ${found} on conflict do nothing`, [...chunk])
    }
  }

  /** After a user has lost this address. */
  static async removeUnlessShared(db: Tx, email: string): Promise<void> {
    // A literal, since SQLite does not use a partial index for a bound value.
    const [, other] = await db('users').where({ email }).whereRaw("status <> 'deleted'").limit(2).select('id')
    if (!other) await rowsOf(SharedEmail, db).where({ email }).delete()
  }

  /** Looks through all users, since a server of an earlier version keeps nothing here. */
  static async correct(db: Tx): Promise<void> {
    await db.raw(`delete from shared_emails where email not in (${all})`)
    await db.raw(`insert into shared_emails (email) ${all} on conflict do nothing`)
  }
}

/** For `check --deep`. */
export const wronglyShared = `select email as what from (${all}) as truly where email not in (select email from shared_emails)
  union all select email from shared_emails where email not in (${all})`
