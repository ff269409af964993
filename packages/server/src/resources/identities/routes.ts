import { okPage, type Route, route } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import { identityPage, listIdentities, presentIdentity, removeIdentity } from './identities.ts'

export const identityRoutes: Route[] = [
  route({
    method: 'GET',
    path: '/auth/identities',
    tag: 'Account',
    summary: 'List the providers linked to your account, newest first',
    auth: 'user',
    query: pageRequest,
    responses: { 200: identityPage },
    handle: async (deps, { caller, query }) => okPage(await listIdentities(deps, caller.userId, query), presentIdentity),
  }),
  route({
    method: 'GET',
    path: '/admin/users/{userId}/identities',
    tag: 'Users',
    summary: 'List the providers linked to a user, newest first',
    auth: 'help_desk_reader',
    query: pageRequest,
    responses: { 200: identityPage },
    handle: async (deps, { params, query }) => okPage(await listIdentities(deps, params.userId, query), presentIdentity),
  }),
  route({
    method: 'DELETE',
    path: '/admin/users/{userId}/identities/{identityId}',
    tag: 'Users',
    summary: 'Unlink a user from a provider',
    description: 'Also unlinks the last one: the user can then set a password by a reset. Sessions continue.',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => removeIdentity(deps, params, actor),
  }),
]
