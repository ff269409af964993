import type { QueryBuilder } from 'objection'
import type { Deps } from '../../deps.ts'
import { type Page, pageOf } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { pageOrder, whereContains } from '../../models/list-query.ts'
import { User } from '../../models/user.ts'
import type { PooledUser } from './present.ts'
import type { ListUsersRequest } from './schema.ts'
import { type UserRow, userColumns, userOf } from './user-columns.ts'

type Filters = Omit<ListUsersRequest, 'namespace'> & { appId: string | undefined }

/**
 * Users, newest first, by any of the filters together. Deleted users are shown only when `status` asks for them. A page is read in its
 * order off an index that begins with the filter, so that few among millions are found as fast as many.
 */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const { namespace, app } = request
  const appId = app === undefined || isUuid(app) ? app : (await App.query(deps.db).findOne({ code: app }).select('id'))?.id
  if (app !== undefined && appId === undefined) return { items: [], nextCursor: null }
  const filters = { ...request, appId }
  const rows = namespace === undefined ? await readUsers(deps, filters) : await usersOfPool(deps, filters, namespace)
  const { items, nextCursor } = pageOf(rows, request, ({ id }) => id)
  return { items: items.map(userOf), nextCursor }
}

/** Those at home in a pool and those who are tagged with it, each in order of their own. */
async function usersOfPool(deps: Deps, filters: Filters, namespace: string): Promise<UserRow[]> {
  const home = await readUsers(deps, filters, { narrow: (query) => void query.where('u.namespace', namespace) })
  const tagged = await readUsers(deps, filters, {
    narrow: (query) => void query.joinRelated('tags').where('tags.namespace', namespace).whereNot('u.namespace', namespace),
    idColumn: 'tags.user_id',
  })
  return [...home, ...tagged].sort((one, other) => (one.id < other.id ? 1 : -1))
}

interface Narrowed {
  narrow(query: QueryBuilder<User>): void
  /** Of the index that leads to the users. */
  idColumn?: string
}

async function readUsers(
  deps: Deps,
  filters: Filters,
  { narrow, idColumn = 'u.id' }: Partial<Narrowed> = {},
): Promise<UserRow[]> {
  const { status, email, appId, role, q, cursor } = filters
  const query = User.query(deps.db).alias('u').select(deps.db.raw(userColumns))
  let leading = idColumn
  narrow?.(query)
  // As literals: SQLite finds no partial index by a bound value.
  if (status !== 'deleted') query.whereRaw("u.status <> 'deleted'")
  if (status !== undefined) query.where('u.status', status)
  if (status !== undefined && status !== 'active') query.whereRaw("u.status <> 'active'")
  if (email) query.where('u.email', email)
  if (appId !== undefined) {
    query.joinRelated('grants').where({ 'grants.app_id': appId, 'grants.status': 'active' })
    query.where((any) => any.whereNull('grants.expires_at').orWhere('grants.expires_at', '>', deps.clock()))
    leading = 'grants.user_id'
  }
  if (role !== undefined) {
    query.joinRelated('roles').where('roles.role_code', role)
    leading = 'roles.user_id'
  }
  // Postgres does not conclude from one id that it bounds the other.
  if (cursor !== undefined && leading !== 'u.id') query.where('u.id', '<', cursor)
  if (q) whereContains(query, ['u.email', 'u.first_name', 'u.last_name'], q)
  // As rows: to make models of them would take half of the time.
  return pageOrder(query, filters, leading).toKnexQuery<UserRow>()
}
