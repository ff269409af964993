import { created, noContent, ok, route, section } from '../../http/route.ts'
import {
  appParams,
  clientSecretPage,
  clientSecretParams,
  createClientSecret,
  createdClientSecret,
  listClientSecrets,
  listClientSecretsQuery,
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
    params: appParams,
    responses: { 201: createdClientSecret },
    errors: ['built_in', 'client_secret_limit'],
    handle: async (deps, { params, ...actor }) => created(await createClientSecret(deps, params.appId, actor)),
  }),
  route({
    method: 'GET',
    path: '/admin/apps/{appId}/client-secrets',
    summary: 'List the client secrets of an app, newest first',
    auth: 'admin_reader',
    params: appParams,
    query: listClientSecretsQuery,
    responses: { 200: clientSecretPage },
    errors: [],
    handle: async (deps, { params, query }) => {
      const { items, nextCursor } = await listClientSecrets(deps, params.appId, query)
      return ok({ items: items.map(presentClientSecret), next_cursor: nextCursor })
    },
  }),
  route({
    method: 'DELETE',
    path: '/admin/apps/{appId}/client-secrets/{secretId}',
    summary: 'Revoke a client secret of an app',
    description: 'It stops working at once. Sessions of the app continue, and refresh with another of its secrets.',
    auth: 'system_admin',
    params: clientSecretParams,
    responses: { 204: null },
    errors: [],
    handle: async (deps, { params, ...actor }) => {
      await revokeClientSecret(deps, { appRef: params.appId, id: params.secretId }, actor)
      return noContent()
    },
  }),
])
