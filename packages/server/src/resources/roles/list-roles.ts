import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Role } from '../../models/role.ts'

/** Roles, by code. */
export async function listRoles(deps: Deps, request: PageRequest): Promise<Page<Role>> {
  return Role.listPage(deps.db, request)
}
