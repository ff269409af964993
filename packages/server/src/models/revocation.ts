import { type Db, isPostgres, type Tx } from '../db/handle.ts'
import { chunksOf } from '../lib/collections.ts'
import type { NewRevocation } from '../lib/revocation-notes.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import type { FeedTable } from './feed.ts'

export const revocationFeed: FeedTable = {
  name: 'revocations',
  key: 'cursor',
  unitMs: 1,
  // The number of a row changes on Postgres while there are servers of the previous version.
  spread: (db) => (isPostgres(db) ? 'hashtext(concat(user_id, app_id, session_id, min_tv))' : 'cursor'),
}

export type RevocationRow = Pick<Revocation, 'cursor' | 'user_id' | 'app_id' | 'session_id' | 'min_tv' | 'min_iat' | 'at'>

const columnsOfEnd = 'user_id, app_id, session_id, at'
/** Reports the end of a session, as part of a statement: SQLite takes the values, Postgres the rows of another part. */
export const newEnd = `insert into revocations (${columnsOfEnd}) values (:user_id, :app_id, :sessionId, :at)`
export const newEndFor = (part: string) =>
  `insert into revocations (cursor, ${columnsOfEnd}) select -nextval('revocations_cursor_seq'), user_id, app_id, id, :at from ${part}`

/** The transaction that gave the highest number. A row that got another one meanwhile is no longer of it. */
const topmost = '(select xmin from revocations order by cursor desc limit 1)'
/** The highest number that another one gave. */
const below = `(select greatest(max(cursor), 0) from revocations where xmin <> ${topmost})`

/** What local validators must learn: the minimum `tv` of a user or the minimum `iat` of an app, or the end of one session. */
export class Revocation extends BaseModel {
  static override tableName = 'revocations'
  static override idColumn = 'cursor'

  /** A number of the row. On SQLite rows have it in the order of their commits. */
  declare cursor: number
  /** Postgres: the transaction that wrote the row. Set by the database, also for servers of the previous version. */
  declare xid: number
  /** Postgres: 1 if servers of the previous version cannot miss it. */
  declare settled: number
  /** Null, with a `min_iat`, if it concerns all users. */
  declare user_id: string | null
  declare app_id: string | null
  declare session_id: string | null
  declare min_tv: number | null
  /** In seconds. */
  declare min_iat: number | null
  declare at: number

  /** Writes revocations. Readers find them when their transaction commits, whatever other transactions do. */
  static async write(db: Tx, noted: readonly NewRevocation[], at: number): Promise<void> {
    const none = { user_id: null, session_id: null, min_tv: null, min_iat: null }
    const rows = noted.map(({ appId, ...about }) => ({
      ...none,
      app_id: appId,
      ...('userId' in about && { user_id: about.userId }),
      ...('sessionId' in about && { session_id: about.sessionId }),
      ...('minTokenVersion' in about && { min_tv: about.minTokenVersion }),
      ...('minIat' in about && { min_iat: about.minIat }),
      at,
    }))
    await insertAll(db, rows)
  }

  /** Replaces all rows with one, whose `minIat` ends every earlier token. */
  static async startOver(db: Tx, { minIat, at }: { minIat: number; at: number }): Promise<void> {
    await rowsOf(Revocation, db).delete()
    await insertAll(db, [{ user_id: null, app_id: null, session_id: null, min_tv: null, min_iat: minIat, at }])
  }

  /**
   * Postgres: whether there are rows that servers of the previous version may miss. Goes with the next version, like the next two.
   */
  static async hasUnsettled(db: Db): Promise<boolean> {
    return (await rowsOf(Revocation, db).where({ settled: 0 }).first('cursor')) !== undefined
  }

  /** Postgres: settles the rows above all others that are visible. */
  static async settleTopmost(db: Db): Promise<void> {
    await db.raw(`update revocations set settled = 1 where settled = 0 and cursor > ${below} and xmin = ${topmost}`)
  }

  /** Postgres: gives all other rows that are not settled new numbers. These become visible together. */
  static async numberOthers(db: Db): Promise<void> {
    await db.raw(`update revocations set cursor = nextval('revocations_cursor_seq') where settled = 0 and cursor <= ${below}`)
  }

  /** Narrows rows to those for an app after `since`. With `usersOnly`, only those about one user. */
  static ofApp(appId: string, { since, usersOnly }: { since: number; usersOnly: boolean }) {
    return (rows: ReturnType<Db>): ReturnType<Db> => {
      const ofApp = rows
        .where('at', '>', since)
        // The end of a session without an app concerns no app.
        .where((of) => of.where('app_id', appId).orWhere((all) => all.whereNull('app_id').whereNull('session_id')))
      return usersOnly ? ofApp.whereNotNull('user_id') : ofApp
    }
  }
}

/** On Postgres, with a negative number: servers of the previous version do not read it before it gets a higher one. */
async function insertAll(db: Tx, rows: readonly Omit<RevocationRow, 'cursor'>[]): Promise<void> {
  const number = isPostgres(db) ? { cursor: db.raw("-nextval('revocations_cursor_seq')") } : {}
  for (const chunk of chunksOf(rows)) await db(Revocation.tableName).insert(chunk.map((row) => ({ ...number, ...row })))
}
