import type { Deps } from '../../deps.ts'
import type { Page } from '../../lib/keyset.ts'
import { isUuid } from '../../lib/uuid.ts'
import { whereContains, withPage } from '../../models/list-query.ts'
import { User } from '../../models/user.ts'
import { type PooledUser, pooled } from './present.ts'
import type { ListUsersRequest } from './schema.ts'

/** Users, newest first, by any of the filters together. Deleted users are shown only when `status` asks for them. */
export async function listUsers(deps: Deps, request: ListUsersRequest): Promise<Page<PooledUser>> {
  const query = User.query(deps.db).withGraphFetched('tags')
  if (request.status) query.where('users.status', request.status)
  else query.whereRaw("users.status <> 'deleted'")
  if (request.email) query.where('users.email', request.email)
  if (request.namespace) {
    const tagged = deps.db('user_namespaces').where('namespace', request.namespace).select('user_id')
    query.where((any) => any.where('users.namespace', request.namespace!).orWhereIn('users.id', tagged))
  }
  if (request.app) {
    const grants = deps.db('user_apps').join('apps', 'apps.id', 'user_apps.app_id').where('user_apps.status', 'active')
    query.whereIn('users.id', grants.where(isUuid(request.app) ? { 'apps.id': request.app } : { 'apps.code': request.app }).select('user_apps.user_id'))
  }
  if (request.role) query.whereIn('users.id', deps.db('user_roles').where('role_code', request.role).select('user_id'))
  if (request.q) whereContains(query, ['users.email', 'users.first_name', 'users.last_name'], request.q)
  const { items, nextCursor } = await withPage(query, request, 'users.id')
  return { items: items.map(pooled), nextCursor }
}
