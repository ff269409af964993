import type { Deps } from '../../deps.ts'
import { type Page, pageOf } from '../../lib/keyset.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'
import { User, type UserFilters, type UserRow } from '../../models/user.ts'
import { unknownApp, unknownRole } from '../names/unknown-name.ts'
import { type PooledUser, userOf } from './present.ts'
import type { ListUsersRequest } from './schema.ts'

/**
 * Users, newest first, who match all filters. Deleted users are shown only if `status` asks for them. A page is read in order
 * from an index that begins with the filter, so that a few matches among millions are found as fast as many. Throws `not_found`
 * for an unknown app or role: a mistyped name must not look like a list of nobody.
 */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const { namespace, app, ...others } = request
  const appId = app === undefined ? undefined : (await App.findByRef(deps.db, app))?.id
  if (app !== undefined && appId === undefined) throw await unknownApp(deps, app)
  if (others.role !== undefined && !(await Role.find(deps.db, others.role))) throw await unknownRole(deps, others.role)
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
