import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { withPage } from '../../models/list-query.ts'
import { Permission } from '../../models/permission.ts'

/** The permissions there are, newest first; pruned ones are none. */
export async function listPermissions(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<Permission>> {
  const query = Permission.query(deps.db).whereNull('pruned_at')
  if (request.service !== undefined) query.where({ service: request.service })
  return withPage(query, request, 'permissions.id')
}
