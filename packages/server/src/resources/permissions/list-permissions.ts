import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Permission } from '../../models/permission.ts'

/** The permissions that are not pruned, newest first. */
export async function listPermissions(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<Permission>> {
  return Permission.listPage(deps.db, request)
}
