import type { Deps } from '../../deps.ts'
import { type Page, pageOf } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { App } from '../../models/app.ts'
import { User, type UserFilters, type UserRow } from '../../models/user.ts'
import { type PooledUser, userOf } from './present.ts'
import type { ListUsersRequest } from './schema.ts'

/**
 * Users, newest first, who match all filters. Deleted users are shown only if `status` asks for them. A page is read in order
 * from an index that begins with the filter, so that a few matches among millions are found as fast as many.
 */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const { namespace, app, ...others } = request
  const appId = app === undefined || isUuid(app) ? app : await App.findId(deps.db, app)
  if (app !== undefined && appId === undefined) return { items: [], nextCursor: null }
  const filters = { ...others, appId }
  const rows =
    namespace === undefined ? await User.listPage(deps.db, filters, deps.clock()) : await usersOfPool(deps, filters, namespace)
  const { items, nextCursor } = pageOf(rows, request, ({ id }) => id)
  return { items: items.map(userOf), nextCursor }
}

/** The users with this home pool, and the users tagged with it, merged from two ordered queries. */
async function usersOfPool(deps: Deps, filters: UserFilters, namespace: string): Promise<UserRow[]> {
  const now = deps.clock()
  const home = await User.listPage(deps.db, { ...filters, pool: { name: namespace, as: 'home' } }, now)
  const tagged = await User.listPage(deps.db, { ...filters, pool: { name: namespace, as: 'tag' } }, now)
  return [...home, ...tagged].sort((one, other) => (one.id < other.id ? 1 : -1))
}
