import { created, ok, okPage, route, section } from '../../http/route.ts'
import { pageRequest } from '../../lib/fields.ts'
import {
  createProvider,
  createProviderBody,
  deleteProvider,
  deleteProviderQuery,
  getProvider,
  listProviders,
  presentProvider,
  providerPage,
  providerRecord,
  updateProvider,
  updateProviderBody,
} from './sso-providers.ts'

export const ssoProviderRoutes = section('Third-party login', [
  route({
    method: 'POST',
    path: '/admin/sso-providers',
    summary: 'Set up a provider',
    description:
      'Works with any OpenID Connect issuer that supports discovery. `google` needs no `issuer`. Register `callback_url` at ' +
      'the provider.',
    auth: 'system_admin',
    body: createProviderBody,
    responses: { 201: providerRecord },
    errors: ['sso_provider_code_taken'],
    handle: async (deps, { body, ...actor }) =>
      created(presentProvider(await createProvider(deps, body, actor), deps.config.publicUrl)),
  }),
  route({
    method: 'GET',
    path: '/admin/sso-providers',
    summary: 'List providers, newest first',
    auth: 'admin_reader',
    query: pageRequest,
    responses: { 200: providerPage },
    handle: async (deps, { query }) =>
      okPage(await listProviders(deps, query), (each) => presentProvider(each, deps.config.publicUrl)),
  }),
  route({
    method: 'GET',
    path: '/admin/sso-providers/{providerCode}',
    summary: 'Show a provider',
    auth: 'admin_reader',
    responses: { 200: providerRecord },
    handle: async (deps, { params }) => ok(presentProvider(await getProvider(deps, params.providerCode), deps.config.publicUrl)),
  }),
  route({
    method: 'PATCH',
    path: '/admin/sso-providers/{providerCode}',
    summary: 'Change a provider',
    description: 'Disabling it refuses logins from then on, including those in progress. Sessions continue.',
    auth: 'system_admin',
    body: updateProviderBody,
    record: providerRecord,
    responses: { 200: providerRecord },
    errors: ['code_immutable', 'sso_provider_in_use'],
    handle: async (deps, { params, body, sentBack, ...actor }) =>
      ok(presentProvider(await updateProvider(deps, params.providerCode, body, sentBack, actor), deps.config.publicUrl)),
  }),
  route({
    method: 'DELETE',
    path: '/admin/sso-providers/{providerCode}',
    summary: 'Delete a provider',
    auth: 'system_admin',
    query: deleteProviderQuery,
    responses: { 204: null },
    errors: ['sso_provider_in_use'],
    handle: async (deps, { params, query, ...actor }) =>
      deleteProvider(deps, params.providerCode, { force: query.force === 'true' }, actor),
  }),
])
