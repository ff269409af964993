import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Organization } from '../../models/organization.ts'

/** Organizations, newest first; `q` searches slug and name. */
export async function listOrganizations(
  deps: Deps,
  request: PageRequest & { q?: string | undefined },
): Promise<Page<Organization>> {
  return Organization.listPage(deps.db, request)
}
