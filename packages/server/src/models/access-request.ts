import type { Db, Pool, Tx } from '../db/handle.ts'
import type { Page, PageRequest } from '../lib/keyset.ts'
import { App } from './app.ts'
import { BaseModel, deleteByKey, type Expired, rowsOf } from './base-model.ts'
import { withPage } from './list-query.ts'
import { User } from './user.ts'

/** A user's request to be let into an app. */
export class AccessRequest extends BaseModel {
  static override tableName = 'access_requests'
  static override relationMappings = () => ({
    app: { relation: BaseModel.BelongsToOneRelation, modelClass: App, join: { from: 'access_requests.app_id', to: 'apps.id' } },
    user: {
      relation: BaseModel.BelongsToOneRelation,
      modelClass: User,
      join: { from: 'access_requests.user_id', to: 'users.id' },
    },
  })

  declare id: string
  declare user_id: string
  declare app_id: string
  declare status: 'open' | 'approved' | 'denied'
  /** What the user wrote to the admins. */
  declare message: string | null
  /** What the admin answered. */
  declare reason: string | null
  declare decided_by: string | null
  declare decided_at: number | null
  declare created_at: number
  declare app?: App
  declare user?: User

  /** With its app and its user. */
  static async findFull(
    db: Db,
    by: { id: string } | { user_id: string; app_id: string; status: 'open' },
  ): Promise<FullRequest | undefined> {
    const found = await AccessRequest.query(db).findOne(by).withGraphFetched('[app, user]')
    return found && isFull(found) ? found : undefined
  }

  /** Closes the open requests of these users, for the app or for every app, and returns them. */
  static async closeOpen(
    db: Tx,
    { appId, userIds }: { appId?: string; userIds: readonly string[] },
    decision: Pick<AccessRequest, 'status' | 'reason' | 'decided_by' | 'decided_at'>,
  ): Promise<Pick<AccessRequest, 'id' | 'user_id' | 'app_id'>[]> {
    return rowsOf(AccessRequest, db)
      .where({ status: 'open', ...(appId === undefined ? {} : { app_id: appId }) })
      .whereIn('user_id', [...userIds])
      .update(decision)
      .returning(['id', 'user_id', 'app_id'])
  }

  /** Closes as approved the open requests of these users for apps that they may enter now, and returns them. */
  static async closeGranted(
    db: Tx,
    userIds: readonly string[],
    { decided_by, decided_at }: { decided_by: string | null; decided_at: number },
  ): Promise<Pick<AccessRequest, 'id' | 'user_id' | 'app_id'>[]> {
    const grant = db('user_apps as g')
      .whereRaw('g.user_id = access_requests.user_id and g.app_id = access_requests.app_id')
      .where('g.status', 'active')
      .where((any) => any.whereNull('g.expires_at').orWhere('g.expires_at', '>', decided_at))
    return rowsOf(AccessRequest, db)
      .where({ status: 'open' })
      .whereIn('user_id', [...userIds])
      .whereExists(grant)
      .update({ status: 'approved', reason: null, decided_by, decided_at })
      .returning(['id', 'user_id', 'app_id'])
  }

  /** Newest first, each with its app and its user. */
  static async listPage(
    db: Db,
    { status, app_id, user_id }: Partial<Pick<AccessRequest, 'status' | 'app_id' | 'user_id'>>,
    request: PageRequest,
  ): Promise<Page<FullRequest>> {
    const query = AccessRequest.query(db).withGraphFetched('[app, user]')
    if (status !== undefined) query.where('access_requests.status', status)
    if (app_id !== undefined) query.where('access_requests.app_id', app_id)
    if (user_id !== undefined) query.where('access_requests.user_id', user_id)
    const { items, nextCursor } = await withPage(query, request, 'access_requests.id')
    return { items: items.filter(isFull), nextCursor }
  }

  static async deleteExpired(db: Pool, { until, limit }: Expired): Promise<number> {
    const decided = db(AccessRequest.tableName).whereIn('status', ['approved', 'denied']).where('decided_at', '<=', until)
    return deleteByKey(AccessRequest, db, decided.limit(limit))
  }
}

/** With its app and its user. */
export type FullRequest = AccessRequest & { app: App; user: User }

/** The foreign keys ensure that both exist. */
function isFull(request: AccessRequest): request is FullRequest {
  return request.app !== undefined && request.user !== undefined
}
