import { okPage, route, section } from '../../http/route.ts'
import { pageByNameRequest } from '../../lib/fields.ts'
import { clearLockout, listLockouts, lockoutPage, unlockUser } from './lockouts.ts'

export const lockoutRoutes = section('Users', [
  route({
    method: 'GET',
    path: '/admin/lockouts',
    summary: 'List lockouts, and the failures that count towards one',
    description: 'Ordered by key. Failures for an address that no user has are counted too; its e-mail is not stored.',
    auth: 'help_desk_reader',
    query: pageByNameRequest,
    responses: { 200: lockoutPage },
    handle: async (deps, { query }) => okPage(await listLockouts(deps, query)),
  }),
  route({
    method: 'DELETE',
    path: '/admin/lockouts/{key}',
    summary: 'Clear one lock, or the failures that count towards it',
    description:
      'Takes a key from the list. Also clears the lock of an address that no user has, which unlocking a user cannot do.',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => clearLockout(deps, params.key, actor),
  }),
  route({
    method: 'POST',
    path: '/admin/users/{userId}/unlock',
    summary: 'Unlock a user',
    description: 'Clears the failures of passwords and second-factor codes, whether or not they led to a lock.',
    auth: 'help_desk',
    helps: async (_, { userId }) => userId,
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => unlockUser(deps, params.userId, actor),
  }),
])
