import { insertRows } from '../db/bulk.ts'
import type { Db, Tx } from '../db/handle.ts'
import { Statement } from '../db/statement.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import type { grantStateAt } from '../lib/records.ts'
import { App } from './app.ts'
import { type AuditEventRow, newEvent, newEventFor } from './audit-event.ts'
import { BaseModel, rowsOf } from './base-model.ts'
import { withPage } from './list-query.ts'
import { User } from './user.ts'
import { UserChange } from './user-change.ts'

export type GrantedVia = 'admin' | 'auto' | 'link' | 'invitation' | 'import'

/** The columns that identify a grant. */
type GrantKey = Pick<UserApp, 'user_id' | 'app_id'>

/** The columns that decide the state of a grant. */
export type GrantStateRow = Pick<UserApp, 'status' | 'expires_at'>

export type NewGrant = GrantKey &
  Pick<UserApp, 'id' | 'status' | 'granted_via' | 'granted_at'> &
  Partial<Pick<UserApp, 'granted_by' | 'reason' | 'expires_at' | 'revoked_at'>>

const missing = `insert into user_apps (id, user_id, app_id, status, granted_via, granted_by, granted_at)
  values (:grantId, :userId, :appId, 'active', :via, :by, :now) on conflict (user_id, app_id) do nothing`
/** On Postgres it fails, by a division by zero, where a trigger drops the event. */
const granting = new Statement(
  `with granted as (${missing} returning id), recorded as (${newEventFor('granted')} returning id)
  select 1 / (select count(*) from recorded) from granted`,
  [missing, newEvent],
)

/** A grant: the row that lets a user enter an app. */
export class UserApp extends BaseModel {
  static override tableName = 'user_apps'
  static override relationMappings = () => ({
    app: { relation: BaseModel.BelongsToOneRelation, modelClass: App, join: { from: 'user_apps.app_id', to: 'apps.id' } },
    user: { relation: BaseModel.BelongsToOneRelation, modelClass: User, join: { from: 'user_apps.user_id', to: 'users.id' } },
  })

  declare id: string
  declare user_id: string
  declare app_id: string
  declare status: 'active' | 'revoked'
  declare granted_via: GrantedVia
  /** The user or service account that granted it. Null if the service did so by its settings. */
  declare granted_by: string | null
  declare reason: string | null
  /**
   * The minimum token version for sessions: access tokens of this app with a lower `tv` are dead, and so are sessions that began
   * below it.
   */
  declare min_token_version: number
  /** The minimum token version for access tokens: like the one for sessions, but ends only tokens. */
  declare min_access_version: number
  declare granted_at: number
  declare expires_at: number | null
  declare revoked_at: number | null
  /** The `expires_at` whose passing apps were told. */
  declare told_expires_at: number | null
  /** Present in a list of a user. */
  declare app: App
  /** Present in a list of an app. */
  declare user: User

  static async insertBulk(db: Tx, rows: readonly NewGrant[]): Promise<void> {
    await insertRows(db, UserApp.tableName, rows)
  }

  /** Inserts an active grant with the event that records it, unless there is a grant already, even a revoked one. */
  static async insertMissing(db: Tx, row: NewGrant, event: AuditEventRow): Promise<void> {
    const { id: grantId, granted_via: via, granted_by: by = null, granted_at: now } = row
    await granting.run(db, { ...event, ...{ grantId, userId: row.user_id, appId: row.app_id, via, by, now } })
  }

  /** Revokes the active grants of these users, for one app or for all, and returns them. Expired ones too. */
  static async revoke(db: Tx, { userIds, ...ofApp }: { userIds: readonly string[]; app_id?: string }, now: number) {
    const revoked = await rowsOf(UserApp, db)
      .where({ ...ofApp, status: 'active' })
      .whereIn('user_id', userIds)
      .update({ status: 'revoked', revoked_at: now })
      .returning('*')
    await UserChange.writeEndedGrants(db, revoked, now)
    return revoked
  }

  /**
   * Tells the apps of grants that have expired by `now`, and after `since`, that these have ended. At most `limit` grants; returns
   * their number.
   */
  static async tellExpired(db: Tx, { since, now, limit }: { since: number; now: number; limit: number }): Promise<number> {
    const untold = () =>
      rowsOf(UserApp, db)
        .where({ status: 'active' })
        .where('expires_at', '>', since)
        .where('expires_at', '<=', now)
        .where((any) => any.whereNull('told_expires_at').orWhereRaw('told_expires_at <> expires_at'))
    const some = untold().orderBy('expires_at').limit(limit).select('id')
    const told = await untold()
      .whereIn('id', some)
      .update({ told_expires_at: db.raw('expires_at') })
      .returning(['user_id', 'app_id'])
    await UserChange.writeEndedGrants(db, told, now)
    return told.length
  }

  /** Sets the minimum token versions for sessions of these users, for an app, to their token versions. */
  static async raiseFloors(db: Tx, appId: string, userIds: readonly string[]): Promise<void> {
    const version = db.raw('(select token_version from users where users.id = user_apps.user_id)')
    await rowsOf(UserApp, db).where({ app_id: appId }).whereIn('user_id', userIds).update({ min_token_version: version })
  }

  /** A page of the grants of a user with their apps, or of an app with their users, newest first, revoked ones too. */
  static async listPage(
    db: Db,
    of: Pick<UserApp, 'user_id'> | Pick<UserApp, 'app_id'>,
    request: GrantListRequest,
  ): Promise<Page<UserApp>> {
    const { effective, expires_before: end, now } = request
    const query = UserApp.query(db)
      .where(of)
      .withGraphFetched('user_id' in of ? 'app' : 'user.tags')
    // Literals, since SQLite does not use a partial index for a bound value.
    if (effective !== undefined) query.whereRaw(`user_apps.status = '${effective === 'revoked' ? 'revoked' : 'active'}'`)
    if (effective === 'active')
      query.where((any) => any.whereNull('user_apps.expires_at').orWhere('user_apps.expires_at', '>', now))
    if (effective === 'expired') query.where('user_apps.expires_at', '<=', now)
    if (end !== undefined) query.where('user_apps.expires_at', '<', end)
    if (effective === 'expired' || end !== undefined) query.whereRaw('user_apps.expires_at is not null')
    return withPage(query, request, 'user_apps.id')
  }

  static async listOfUsers(db: Db, userIds: readonly string[]): Promise<(GrantKey & GrantStateRow)[]> {
    return rowsOf(UserApp, db).whereIn('user_id', userIds).select('user_id', 'app_id', 'status', 'expires_at')
  }

  /** The apps that a user has grants for, with the state of each grant, sorted by code. */
  static async listStates(db: Db, userId: string): Promise<(GrantStateRow & { app_id: string; app_code: string })[]> {
    return db('user_apps')
      .join('apps', 'apps.id', 'user_apps.app_id')
      .where('user_apps.user_id', userId)
      .orderBy('apps.code')
      .select('apps.id as app_id', 'apps.code as app_code', 'user_apps.status', 'user_apps.expires_at')
  }

  /** How the grants of a user began and ended, sorted by the codes of their apps. */
  static async listHistories(
    db: Db,
    userId: string,
  ): Promise<(GrantStateRow & Pick<UserApp, 'granted_via' | 'granted_at' | 'revoked_at'> & { app_code: string })[]> {
    return db('user_apps as g')
      .join('apps as a', 'a.id', 'g.app_id')
      .where('g.user_id', userId)
      .orderBy('a.code')
      .select('a.code as app_code', 'g.status', 'g.granted_via', 'g.granted_at', 'g.expires_at', 'g.revoked_at')
  }

  /** The app that a user was given first, of those that they may enter. */
  static async findFirstApp(db: Db, userId: string): Promise<App | undefined> {
    const query = UserApp.query(db).where({ user_id: userId, status: 'active' }).orderBy(['granted_at', 'id'])
    return (await query.first().withGraphFetched('app'))?.app
  }
}

/** Which grants a list has. `now` tells those that have expired from active ones. */
interface GrantListRequest extends PageRequest {
  effective?: ReturnType<typeof grantStateAt> | undefined
  /** In milliseconds. */
  expires_before?: number | undefined
  now: number
}
