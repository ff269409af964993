import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import type { Named } from '../command-line/options.ts'
import { counted } from '../text/counted.ts'
import type { Candidate } from './complete.ts'

/** TAB offers at most this many. */
const most = 200

/** Asks the service for names. If it can search, asks only for those that contain what was typed. */
export async function askNames(kind: Exclude<Named, 'contexts'>, api: Api, typed: string): Promise<Candidate[]> {
  return sources[kind](api, typed === '' ? {} : { q: typed })
}

type Source = (api: Api, search: { q?: string }) => Promise<Candidate[]>

const sources: Record<Exclude<Named, 'contexts'>, Source> = {
  apps: async (api, search) => (await appsOf(api, search)).map(({ code, name }) => ({ value: code, about: name })),
  organizations: async (api, search) =>
    (await organizationsOf(api, search)).map(({ slug, name }) => ({ value: slug, about: name })),
  // The service searches by name, not by id.
  organizationIds: async (api) => (await organizationsOf(api, {})).map(({ id, slug }) => ({ value: id, about: slug })),
  pools: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/namespaces', { params: { query } })), most))).map(
      ({ namespace, user_count }) => ({ value: namespace, about: counted(user_count, 'user') }),
    ),
  providers: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/sso-providers', { params: { query } })), most))).map(
      ({ code, issuer }) => ({ value: code, about: issuer }),
    ),
  roles: async (api) =>
    (await readAll(pages((query) => bodyOf(api.GET('/api/v1/admin/roles', { params: { query } })), most))).map(
      ({ code, name }) => ({
        value: code,
        about: name,
      }),
    ),
  async services(api) {
    const permissions = pages((query) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query } })), most)
    const [apps, registered] = await Promise.all([appsOf(api, {}), readAll(permissions)])
    const names = new Set([...apps.flatMap(({ service_codes }) => service_codes), ...registered.map(({ service }) => service)])
    return [...names].sort().map((value) => ({ value }))
  },
}

function appsOf(api: Api, search: { q?: string }) {
  return readAll(pages((page) => bodyOf(api.GET('/api/v1/admin/apps', { params: { query: { ...search, ...page } } })), most))
}

function organizationsOf(api: Api, search: { q?: string }) {
  return readAll(
    pages((page) => bodyOf(api.GET('/api/v1/admin/organizations', { params: { query: { ...search, ...page } } })), most),
  )
}
