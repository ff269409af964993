import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { whereContains, withPage } from '../../models/list-query.ts'
import { User } from '../../models/user.ts'
import { UserApp, whereActive } from '../../models/user-app.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { UserRole } from '../../models/user-role.ts'
import { type PooledUser, pooled } from './present.ts'
import type { ListUsersRequest } from './schema.ts'

/** Users, newest first, by any of the filters together. Deleted users are shown only when `status` asks for them. */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const { status, email, namespace, app, role, q } = request
  const query = User.query(deps.db).withGraphFetched('tags')
  if (status) query.where('users.status', status)
  else query.whereRaw("users.status <> 'deleted'")
  if (email) query.where('users.email', email)
  if (namespace) {
    const tagged = UserNamespace.query(deps.db).where({ namespace }).select('user_id')
    query.where((any) => any.where('users.namespace', namespace).orWhereIn('users.id', tagged))
  }
  if (app) {
    const granted = UserApp.query(deps.db).joinRelated('app').modify(whereActive, deps.clock()).select('user_apps.user_id')
    query.whereIn('users.id', granted.where(isUuid(app) ? { 'app.id': app } : { 'app.code': app }))
  }
  if (role) query.whereIn('users.id', UserRole.query(deps.db).where({ role_code: role }).select('user_id'))
  if (q) whereContains(query, ['users.email', 'users.first_name', 'users.last_name'], q)
  const { items, nextCursor } = await withPage(query, request, 'users.id')
  return { items: items.map(pooled), nextCursor }
}
