import type { components } from '@gatehouse/sdk/admin'
import { type Api, bodyOf, pages, readAll } from '../api/api-client.ts'
import { Failure } from '../command-line/exit-codes.ts'
import { isUuid } from '../text/uuid.ts'
import { nearestName } from './nearest-name.ts'

export type Organization = components['schemas']['Organization']

/** The description of an argument that names an organization. */
export const organizationRefSyntax = 'id or slug'

/** How many of the newest organizations a mistyped slug is compared with. */
const mostCompared = 1_000

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
  const some = await readAll(
    pages((page) => bodyOf(api.GET('/api/v1/admin/organizations', { params: { query: page } })), mostCompared),
  )
  const nearest = nearestName(
    typed,
    some.map(({ slug }) => slug),
  )
  throw new Failure('notFound', `no organization has the slug ${typed}${nearest}`, {
    code: 'organization_not_found',
    hint: 'authctl org list shows all organizations',
  })
}
