import { created, ok, okPage, type Route, route, section } from '../../http/route.ts'
import { permissionCodesBody } from '../../lib/records.ts'
import {
  createServiceAccountBody,
  listServiceAccountsQuery,
  patchPermissionsBody,
  serviceAccountPage,
  serviceAccountRecord,
  serviceAccountWithToken,
  updateServiceAccountBody,
} from './schema.ts'
import {
  createServiceAccount,
  deleteServiceAccount,
  type IssuedAccount,
  listServiceAccounts,
  patchPermissions,
  presentServiceAccount,
  replacePermissions,
  rotateServiceAccount,
  updateServiceAccount,
} from './service-accounts.ts'

function withToken({ account, token }: IssuedAccount) {
  return { ...presentServiceAccount(account), token }
}

export const serviceAccountRoutes = section('Service accounts', [
  route({
    method: 'POST',
    path: '/admin/service-accounts',
    summary: 'Create a service account',
    description:
      'The token is shown only once. The scope `permissions:register` registers the permissions of its own service. `admin:read` ' +
      'reads what a `system_admin` reads, except pools, and `admin:configure` changes settings of apps and roles that lead no further. The other scopes only apply to the apps in `app_codes`: `users:register_or_return` registers users in the mode ' +
      '`register_or_return`, `users:override` lets a login or registration link apps that the app does not declare, ' +
      '`tokens:introspect` introspects tokens, `tokens:issue` gets access tokens of the account for these apps ' +
      '(`POST /auth/token`), `limits:exempt` lifts the rate limit per address, and `users:changes` reads changes of their users ' +
      '(`GET /consumer/changes`).',
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
    summary: 'List service accounts, newest first',
    auth: 'admin_reader',
    query: listServiceAccountsQuery,
    responses: { 200: serviceAccountPage },
    handle: async (deps, { query }) => okPage(await listServiceAccounts(deps, query), presentServiceAccount),
  }),
  route({
    method: 'PATCH',
    path: '/admin/service-accounts/{serviceAccountId}',
    summary: 'Change the name, scopes, apps or expiry of a service account',
    description:
      'Its token stays the same, and its `service` never changes. `scopes` and `app_codes` replace the whole list. If the account ' +
      'loses `tokens:issue` or an app, or expires sooner, its machine tokens become invalid at once.',
    auth: 'system_admin',
    body: updateServiceAccountBody,
    record: serviceAccountRecord,
    responses: { 200: serviceAccountRecord },
    errors: ['service_account_name_taken'],
    handle: async (deps, { params, body, sentBack, ...actor }) =>
      ok(presentServiceAccount(await updateServiceAccount(deps, params.serviceAccountId, body, sentBack, actor))),
  }),
  route({
    method: 'POST',
    path: '/admin/service-accounts/{serviceAccountId}/rotate',
    summary: 'Rotate the token of a service account',
    description:
      'The old token and the machine tokens obtained with it become invalid at once. The new token is shown only once.',
    auth: 'system_admin',
    noStore: true,
    responses: { 200: serviceAccountWithToken },
    handle: async (deps, { params, ...actor }) => ok(withToken(await rotateServiceAccount(deps, params.serviceAccountId, actor))),
  }),
  route({
    method: 'DELETE',
    path: '/admin/service-accounts/{serviceAccountId}',
    summary: 'Delete a service account',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => deleteServiceAccount(deps, params.serviceAccountId, actor),
  }),
  ...permissionRoutes(),
])

/** The routes for the permissions that an account's machine tokens carry. */
function permissionRoutes(): Route[] {
  const path = '/admin/service-accounts/{serviceAccountId}/permissions'
  return [
    route({
      method: 'PUT',
      path,
      summary: 'Replace the permissions of a service account',
      description:
        'Machine tokens of the account carry those permissions that the services of the app declare. If the account loses a ' +
        'permission, its machine tokens become invalid at once, at every app.',
      auth: 'system_admin',
      body: permissionCodesBody,
      responses: { 200: serviceAccountRecord },
      handle: async (deps, { params, body, ...actor }) =>
        ok(presentServiceAccount(await replacePermissions(deps, { ...params, ...body }, actor))),
    }),
    route({
      method: 'PATCH',
      path,
      summary: 'Add and remove permissions of a service account',
      description:
        'In one step. Adding a permission that it has, or removing one that it does not have, changes nothing. If the account ' +
        'loses a permission, its machine tokens become invalid at once, at every app.',
      auth: 'system_admin',
      body: patchPermissionsBody,
      responses: { 200: serviceAccountRecord },
      handle: async (deps, { params, body, ...actor }) => {
        const { add = [], remove = [] } = body
        return ok(presentServiceAccount(await patchPermissions(deps, { ...params, add, remove }, actor)))
      },
    }),
  ]
}
