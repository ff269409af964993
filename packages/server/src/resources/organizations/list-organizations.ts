import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { whereContains, withPage } from '../../models/list-query.ts'
import { Organization } from '../../models/organization.ts'

/** Organizations, newest first; `q` is looked for in slug and name. */
export async function listOrganizations(
  deps: Deps,
  request: PageRequest & { q?: string | undefined },
): Promise<Page<Organization>> {
  const query = Organization.query(deps.db)
  if (request.q) whereContains(query, ['slug', 'name'], request.q)
  return withPage(query, request, 'organizations.id')
}
