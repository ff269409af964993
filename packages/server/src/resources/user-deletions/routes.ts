import { ok, type Route, route } from '../../http/route.ts'
import { deleteUser, deleteUserQuery, erasurePlan, planErasure } from './user-deletions.ts'

export const userDeletionRoutes: Route[] = [
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}',
    tag: 'Users',
    summary: 'Delete a user',
    description:
      'Frees the e-mail and invalidates every token. Removes roles, memberships, pool tags and grants. The id stays. A dry run ' +
      'with `erase` answers 200 with how much would be blanked.',
    auth: 'system_admin',
    query: deleteUserQuery,
    responses: { 200: erasurePlan, 204: null },
    errors: ['last_system_admin'],
    handle: async (deps, { params, query, ...actor }) =>
      deleteUser(deps, params.userId, { erase: query.erase === 'true' }, actor),
    plan: async (deps, { params, query, ...actor }) =>
      query.erase === 'true' ? ok(await planErasure(deps, params.userId, actor)) : undefined,
  }),
]
