import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { unlockUser } from '../lockouts/unlock-user.ts'
import { deleteUser } from '../user-deletions/delete-user.ts'
import { importUsers } from '../user-imports/import-users.ts'
import { createUser } from './create-user.ts'
import { describeUser } from './describe-user.ts'
import { listUsers } from './list-users.ts'
import { presentUser } from './present.ts'
import {
  createUserBody,
  deleteUserQuery,
  importAnswer,
  importLine,
  importUsersQuery,
  listUsersQuery,
  updateUserBody,
  userDetail,
  userPage,
  userParams,
} from './schema.ts'
import { updateUser } from './update-user.ts'

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
  route({
    method: 'POST',
    path: '/admin/users',
    tag,
    summary: 'Create a user',
    description: 'Sends no mail and no webhook, and grants no app.',
    auth: 'system_admin',
    body: createUserBody,
    responses: { 201: userDetail },
    errors: ['email_exists_in_pool'],
    handle: async (deps, { body, ...actor }) => created(await createUser(deps, body, actor)),
  }),
  route({
    method: 'POST',
    path: '/admin/users/import',
    tag,
    summary: 'Import users with their password hashes',
    description:
      'Newline-delimited JSON, one user a line, committed per 500 lines; a bad line stops no other. Users are told by (namespace, ' +
      'e-mail): to one who exists, tags, apps and roles are added, and nothing else is changed. A line for an unproven account, which ' +
      'somebody else may have registered, fails with `account_unverified` unless `claim_unverified=true`. Sends no mail and no webhook.',
    auth: 'system_admin',
    query: importUsersQuery,
    lines: importLine,
    bodyLimitBytes: 10 * 1024 * 1024,
    responses: { 200: importAnswer },
    errors: ['payload_too_large', 'unsupported_media_type'],
    handle: async (deps, { query, lines, ...actor }) =>
      ok(
        await importUsers(
          deps,
          lines,
          { dryRun: query.dry_run === 'true', claimsUnproven: query.claim_unverified === 'true' },
          actor,
        ),
      ),
  }),
  route({
    method: 'PATCH',
    path: '/admin/users/{userId}',
    tag,
    summary: 'Change the names, the e-mail or the state of a user',
    description:
      'Suspending ends all sessions and kills all tokens; activating brings none back. A new e-mail is unverified and ends none.',
    auth: 'system_admin',
    params: userParams,
    body: updateUserBody,
    responses: { 200: userDetail },
    errors: ['email_exists_in_pool', 'last_system_admin'],
    handle: async (deps, { params, body, ...actor }) => ok(await updateUser(deps, params.userId, body, actor)),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}',
    tag,
    summary: 'Delete a user',
    description: 'The e-mail is free again and every token dead; roles, memberships, pool tags and grants go. The id stays.',
    auth: 'system_admin',
    params: userParams,
    query: deleteUserQuery,
    responses: { 204: null },
    errors: ['last_system_admin'],
    handle: async (deps, { params, query, ...actor }) => {
      await deleteUser(deps, params.userId, { erase: query.erase === 'true' }, actor)
      return noContent()
    },
  }),
  route({
    method: 'POST',
    path: '/admin/users/{userId}/unlock',
    tag,
    summary: 'Lift the lockout of a user',
    description: 'Forgets the failed logins, whether or not they led to a lock.',
    auth: 'system_admin',
    params: userParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await unlockUser(deps, params.userId, actor)
      return noContent()
    },
  }),
]
