import { noContent, ok, type Route, route } from '../../http/route.ts'
import { userParams } from '../../lib/fields.ts'
import {
  identityPage,
  listIdentities,
  listIdentitiesQuery,
  presentIdentity,
  removeIdentity,
  userIdentityParams,
} from './identities.ts'

export const identityRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/identities',
    tag: 'Account',
    summary: 'List the providers linked to your account, newest first',
    auth: 'user',
    query: listIdentitiesQuery,
    responses: { 200: identityPage },
    errors: [],
    handle: async (deps, { caller, query }) => {
      const { items, nextCursor } = await listIdentities(deps, caller.userId, query)
      return ok({ items: items.map(presentIdentity), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/identities',
    tag: 'Users',
    summary: 'List the providers linked to a user, newest first',
    auth: 'help_desk_reader',
    params: userParams,
    query: listIdentitiesQuery,
    responses: { 200: identityPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listIdentities(deps, params.userId, query)
      return ok({ items: items.map(presentIdentity), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/identities/{identityId}',
    tag: 'Users',
    summary: 'Unlink a user from a provider',
    description: 'Also unlinks the last one: the user can then set a password by a reset. Sessions continue.',
    auth: 'system_admin',
    params: userIdentityParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await removeIdentity(deps, params, actor)
      return noContent()
    },
  }),
]
