import { ok, type Route, route } from '../../http/route.ts'
import { describeUser } from './describe-user.ts'
import { listUsers } from './list-users.ts'
import { presentUser } from './present.ts'
import { listUsersQuery, userDetail, userPage, userParams } from './schema.ts'

const tag = 'Users'

export const userRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/admin/users',
    tag,
    summary: 'Search users, newest first',
    auth: 'system_admin',
    query: listUsersQuery,
    responses: { 200: userPage },
    errors: [],
    handle: async (deps, { query }) => {
      const { items, nextCursor } = await listUsers(deps, query)
      return ok({ items: items.map(presentUser), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}',
    tag,
    summary: 'Show a user with pools, apps, roles and organizations',
    auth: 'system_admin',
    params: userParams,
    responses: { 200: userDetail },
    errors: [],
    handle: async (deps, { params }) => ok(await describeUser(deps, params.userId)),
  }),
]
