import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'

type Permission = components['schemas']['Permission']

/** All permissions of a service, sorted by code. */
export async function readPermissions(api: Api, service: string): Promise<Permission[]> {
  const all = await readAll(
    pages((page) => bodyOf(api.GET('/api/v1/admin/permissions', { params: { query: { service, ...page } } }))),
  )
  return all.sort((one, other) => (one.code < other.code ? -1 : 1))
}
