import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { isUuid } from '../text/uuid.ts'

export type Organization = components['schemas']['Organization']

/** The description of an argument that names an organization. */
export const organizationRefSyntax = 'id or slug'

/** Finds an organization by id or slug. Throws `notFound`. */
export async function getOrganization(api: Api, typed: string): Promise<Organization> {
  if (isUuid(typed)) {
    return bodyOf(api.GET('/api/v1/admin/organizations/{organizationId}', { params: { path: { organizationId: typed } } }))
  }
  const all = pages((page) => bodyOf(api.GET('/api/v1/admin/organizations', { params: { query: { q: typed, ...page } } })))
  for await (const page of all) {
    const found = page.find(({ slug }) => slug === typed)
    if (found) return found
  }
  throw new Failure('notFound', `no organization has the slug ${typed}`, {
    code: 'organization_not_found',
    hint: 'authctl org list shows all organizations',
  })
}
