import { created, noContent, ok, type Route, route } from '../../http/route.ts'
import { createServiceAccount, type IssuedAccount } from './create-service-account.ts'
import { deleteServiceAccount } from './delete-service-account.ts'
import { listServiceAccounts } from './list-service-accounts.ts'
import { presentServiceAccount } from './present.ts'
import { rotateServiceAccount } from './rotate-service-account.ts'
import {
  createServiceAccountBody,
  listServiceAccountsQuery,
  serviceAccountPage,
  serviceAccountParams,
  serviceAccountWithToken,
} from './schema.ts'

const tag = 'Service accounts'

function withToken({ account, token }: IssuedAccount) {
  return { ...presentServiceAccount(account), token }
}

export const serviceAccountRoutes: Route[] = [
  route({
    method: 'POST',
    path: '/admin/service-accounts',
    tag,
    summary: 'Create a service account',
    description:
      'The token is shown this once. The scope `permissions:register` registers the permissions of its own service. The others hold ' +
      'for the apps of `app_codes` alone: `users:register_or_return` registers users in the mode `register_or_return`, ' +
      '`users:override` links apps at a login or registration that no app declares, `tokens:introspect` introspects tokens, and ' +
      '`limits:exempt` lifts the limit by address.',
    auth: 'system_admin',
    noStore: true,
    body: createServiceAccountBody,
    responses: { 201: serviceAccountWithToken },
    errors: ['service_account_name_taken'],
    handle: async (deps, { body, ...actor }) => created(withToken(await createServiceAccount(deps, body, actor))),
  }),
  route({
    method: 'GET',
    path: '/admin/service-accounts',
    tag,
    summary: 'List service accounts, newest first',
    auth: 'system_admin',
    query: listServiceAccountsQuery,
    responses: { 200: serviceAccountPage },
    errors: [],
    handle: async (deps, { query }) => {
      const { items, nextCursor } = await listServiceAccounts(deps, query)
      return ok({ items: items.map(presentServiceAccount), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'POST',
    path: '/admin/service-accounts/{serviceAccountId}/rotate',
    tag,
    summary: 'Give a service account another token',
    description: 'The old token is dead at once; the new one is shown this once.',
    auth: 'system_admin',
    noStore: true,
    params: serviceAccountParams,
    responses: { 200: serviceAccountWithToken },
    errors: [],
    handle: async (deps, { params, ...actor }) => ok(withToken(await rotateServiceAccount(deps, params.serviceAccountId, actor))),
  }),
  route({
    method: 'DELETE',
    path: '/admin/service-accounts/{serviceAccountId}',
    tag,
    summary: 'Delete a service account',
    auth: 'system_admin',
    params: serviceAccountParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await deleteServiceAccount(deps, params.serviceAccountId, actor)
      return noContent()
    },
  }),
]
