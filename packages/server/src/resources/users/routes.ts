import { created, ok, okPage, route, section } from '../../http/route.ts'
import { presentUser } from './present.ts'
import {
  createUser,
  createUserBody,
  describeUser,
  listUsers,
  listUsersQuery,
  updateUser,
  updateUserBody,
  userDetail,
  userPage,
} from './users.ts'

export const userRoutes = section('Users', [
  route({
    method: 'GET',
    path: '/admin/users',
    summary: 'Search users, newest first',
    description: 'Users must match all filters that are given. An unknown app or role is 404, with the nearest code.',
    auth: 'help_desk_reader',
    query: listUsersQuery,
    responses: { 200: userPage },
    errors: ['not_found'],
    handle: async (deps, { query }) => okPage(await listUsers(deps, query), presentUser),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}',
    summary: 'Show a user with pools, apps, roles and organizations',
    auth: 'help_desk_reader',
    responses: { 200: userDetail },
    handle: async (deps, { params }) => ok(await describeUser(deps, params.userId)),
  }),
  route({
    method: 'POST',
    path: '/admin/users',
    summary: 'Create a user',
    description: 'Sends no mail and no webhook, and grants no app.',
    auth: 'system_admin',
    body: createUserBody,
    responses: { 201: userDetail },
    errors: ['email_exists_in_pool'],
    handle: async (deps, { body, ...actor }) => created(await createUser(deps, body, actor)),
  }),
  route({
    method: 'PATCH',
    path: '/admin/users/{userId}',
    summary: 'Change the names, the e-mail or the state of a user',
    description:
      'Suspending ends all sessions and invalidates all tokens; activating restores none of them. A new e-mail is unverified ' +
      'and ends no session.',
    auth: 'system_admin',
    body: updateUserBody,
    record: userDetail,
    responses: { 200: userDetail },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, sentBack, ...actor }) =>
      ok(await updateUser(deps, params.userId, body, sentBack, actor)),
  }),
])
