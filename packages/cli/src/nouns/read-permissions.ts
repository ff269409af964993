import { type Api, bodyOf, pages } from '../api/api-client.ts'
import type { components } from '../api-types.ts'

type Permission = components['schemas']['Permission']

export function permissionPages(api: Api, service: string | undefined, limit?: number): AsyncGenerator<Permission[]> {
  const filter = service === undefined ? {} : { service }
  return pages((page) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query: { ...filter, ...page } } })), limit)
}

/** All that a service has, by code. */
export async function readPermissions(api: Api, service: string): Promise<Permission[]> {
  const all: Permission[] = []
  for await (const page of permissionPages(api, service)) all.push(...page)
  return all.sort((one, other) => (one.code < other.code ? -1 : 1))
}
