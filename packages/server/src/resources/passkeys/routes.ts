import { noContent, ok, route, section } from '../../http/route.ts'
import { userParams } from '../../lib/fields.ts'
import { listPasskeys, listPasskeysQuery, passkeyPage, presentPasskey, removePasskey, userPasskeyParams } from './passkeys.ts'

export const passkeyRoutes = section('Users', [
  route({
    method: 'GET',
    path: '/admin/users/{userId}/passkeys',
    summary: 'List the passkeys of a user, newest first',
    auth: 'help_desk_reader',
    params: userParams,
    query: listPasskeysQuery,
    responses: { 200: passkeyPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listPasskeys(deps, params.userId, query)
      return ok({ items: items.map(presentPasskey), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/passkeys/{passkeyId}',
    summary: 'Remove a passkey of a user',
    description: 'Also removes the last way to sign in: the user can then set a password by a reset. Sessions continue.',
    auth: 'system_admin',
    params: userPasskeyParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await removePasskey(deps, params, actor)
      return noContent()
    },
  }),
])
