import { okPage, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { listPasskeys, passkeyPage, presentPasskey, removePasskey } from './passkeys.ts'

export const passkeyRoutes = section('Users', [
  route({
    method: 'GET',
    path: '/admin/users/{userId}/passkeys',
    summary: 'List the passkeys of a user, newest first',
    auth: 'help_desk_reader',
    query: pageRequest,
    responses: { 200: passkeyPage },
    handle: async (deps, { params, query }) => okPage(await listPasskeys(deps, params.userId, query), presentPasskey),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/passkeys/{passkeyId}',
    summary: 'Remove a passkey of a user',
    description: 'Also removes the last way to sign in: the user can then set a password by a reset. Sessions continue.',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => removePasskey(deps, params, actor),
  }),
])
