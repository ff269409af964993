import { type Api, bodyOf, pages } from '../api/api-client.ts'
import type { components } from '../api-types.ts'

type Pool = components['schemas']['Pool']

export function poolPages(api: Api, limit?: number): AsyncGenerator<Pool[]> {
  return pages((query) => bodyOf(api.GET('/api/v1/admin/namespaces', { params: { query } })), limit)
}
