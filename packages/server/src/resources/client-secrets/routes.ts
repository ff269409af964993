import { created, okPage, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import {
  clientSecretPage,
  createClientSecret,
  createdClientSecret,
  listClientSecrets,
  presentClientSecret,
  revokeClientSecret,
} from './client-secrets.ts'

export const clientSecretRoutes = section('Apps', [
  route({
    method: 'POST',
    path: '/admin/apps/{appId}/client-secrets',
    summary: 'Give an app a client secret',
    description:
      'For an app whose `client` is `confidential`. It has at most two, so that one can replace the other without a failed request.',
    auth: 'system_admin',
    noStore: true,
    responses: { 201: createdClientSecret },
    errors: ['built_in', 'client_secret_limit'],
    handle: async (deps, { params, ...actor }) => created(await createClientSecret(deps, params.appId, actor)),
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/client-secrets',
    summary: 'List the client secrets of an app, newest first',
    auth: 'admin_reader',
    query: pageRequest,
    responses: { 200: clientSecretPage },
    handle: async (deps, { params, query }) => okPage(await listClientSecrets(deps, params.appId, query), presentClientSecret),
  }),
  route({
    method: 'DELETE',
    path: '/admin/apps/{appId}/client-secrets/{secretId}',
    summary: 'Revoke a client secret of an app',
    description: 'It stops working at once. Sessions of the app continue, and refresh with another of its secrets.',
    auth: 'system_admin',
    responses: { 204: null },
    handle: async (deps, { params, ...actor }) => revokeClientSecret(deps, { appRef: params.appId, id: params.secretId }, actor),
  }),
])
