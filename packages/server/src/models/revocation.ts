import { type Db, isPostgres, type Pool, type Tx } from '../db/handle.ts'
import { lockUntilCommit } from '../db/locks.ts'
import { notifyAtCommit } from '../db/notify.ts'
import { chunksOf } from '../lib/chunks.ts'
import type { NewRevocation } from '../lib/revocation-notes.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'

export type RevocationRow = Pick<Revocation, 'cursor' | 'user_id' | 'app_id' | 'session_id' | 'min_tv' | 'min_iat' | 'at'>

/** What local validators must learn: a floor under `tv` of a user or under `iat` of an app, or the end of one session. */
export class Revocation extends BaseModel {
  static override tableName = 'revocations'
  static override idColumn = 'cursor'

  declare cursor: number
  /** Null, with a `min_iat`, if it concerns all users. */
  declare user_id: string | null
  declare app_id: string | null
  declare session_id: string | null
  declare min_tv: number | null
  /** In seconds. */
  declare min_iat: number | null
  declare at: number

  /**
   * Writes revocations, and tells every server. All writers take one lock, so that cursors become visible in order and a reader
   * skips none. Call it last in a transaction: other revocations wait until the commit.
   */
  static async write(db: Tx, noted: readonly NewRevocation[], at: number): Promise<void> {
    await lockUntilCommit(db, 'revocations')
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
    let newest = 0
    for (const chunk of chunksOf(rows))
      for (const { cursor } of await rowsOf(Revocation, db).insert(chunk).returning('cursor')) newest = Math.max(newest, cursor)
    await notifyAtCommit(db, 'gatehouse_revocations', String(newest))
  }

  /** The newest cursor, and the first that counts: lower ones are from before a restored backup or a failover. */
  static async readBounds(db: Db): Promise<{ newest: number; first: number }> {
    const newest = db.raw('(select max(cursor) from revocations) as newest')
    const [row]: { newest: number | null; first: number }[] = await db('service').select('first_cursor as first', newest)
    return { newest: row?.newest ?? 0, first: row?.first ?? 0 }
  }

  /** The last cursor that the database gave to a row, even if the row is gone or not yet committed. 0 before the first. */
  static async lastCursorGiven(db: Db): Promise<number> {
    const [row]: { last: number }[] = await (isPostgres(db)
      ? db('revocations_cursor_seq').where({ is_called: true }).select({ last: 'last_value' })
      : db('sqlite_sequence').where({ name: 'revocations' }).select({ last: 'seq' }))
    return row?.last ?? 0
  }

  /**
   * Replaces all rows with one row, whose `minIat` ends every earlier token. Its cursor is higher than any that was ever given,
   * including those given after the state that was restored.
   */
  static async startOver(db: Tx, { minIat, at }: { minIat: number; at: number }): Promise<number> {
    const cursor = await Revocation.#cursorBeyond(db, { at, known: 0 })
    await rowsOf(Revocation, db).delete()
    const nobody = { user_id: null, app_id: null, session_id: null, min_tv: null }
    await rowsOf(Revocation, db).insert({ ...nobody, cursor, min_iat: minIat, at })
    if (isPostgres(db)) await db.raw("select setval('revocations_cursor_seq', ?)", [cursor])
    return cursor
  }

  /**
   * Postgres: renumbers all rows in their order, and returns a cursor below them. It is higher than any that was ever given,
   * including `known` and those that the database has lost.
   */
  static async moveBeyond(db: Tx, given: { at: number; known: number }): Promise<number> {
    const cursor = await Revocation.#cursorBeyond(db, given)
    const ranked = db.raw('(select cursor as former, row_number() over (order by cursor) as rank from revocations) as ranked')
    await db(Revocation.tableName)
      .updateFrom(ranked)
      .update({ cursor: db.raw('? + rank', [cursor]) })
      .where('cursor', db.ref('former'))
    const { newest } = await Revocation.readBounds(db)
    await db.raw("select setval('revocations_cursor_seq', ?)", [Math.max(cursor, newest)])
    return cursor
  }

  /** The time in milliseconds, which is normally higher than any cursor. If not, one above the highest known cursor. */
  static async #cursorBeyond(db: Tx, { at, known }: { at: number; known: number }): Promise<number> {
    const { newest } = await Revocation.readBounds(db)
    return Math.max(at, known + 1, newest + 1, (await Revocation.lastCursorGiven(db)) + 1)
  }

  /** The revocations for an app, after one cursor and up to another. With `usersOnly`, only those about one user. */
  static async listOfApp(
    db: Db,
    appId: string,
    { after, last, since, limit, usersOnly }: { after: number; last: number; since: number; limit: number; usersOnly: boolean },
  ): Promise<RevocationRow[]> {
    const query = Revocation.#between(db, after, last)
      .where('at', '>', since)
      // The end of a session without an app concerns no app.
      .where((of) => of.where('app_id', appId).orWhere((all) => all.whereNull('app_id').whereNull('session_id')))
      .limit(limit)
    return usersOnly ? query.whereNotNull('user_id') : query
  }

  /** The next revocations after a cursor, for all apps. */
  static async listAfter(db: Db, after: number, limit: number): Promise<RevocationRow[]> {
    return Revocation.#between(db, after, Number.MAX_SAFE_INTEGER).limit(limit)
  }

  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    return deleteByKey(Revocation, db, db(Revocation.tableName).where('at', '<=', until).limit(limit))
  }

  static #between(db: Db, after: number, last: number) {
    return rowsOf(Revocation, db).where('cursor', '>', after).where('cursor', '<=', last).orderBy('cursor')
  }
}
