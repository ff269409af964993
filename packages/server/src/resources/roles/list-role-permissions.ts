import type { Deps } from '../../deps.ts'

export interface RolePermission {
  code: string
  service: string
}

/** Holds every permission without being assigned any (decisions 3). */
export const HOLDER_OF_ALL = 'super_admin'

/** The permissions of a role, by code; pruned ones are none. */
export async function listRolePermissions(deps: Deps, roleCode: string): Promise<RolePermission[]> {
  const query = deps.db('permissions as p').whereNull('p.pruned_at')
  if (roleCode !== HOLDER_OF_ALL) {
    query.join('role_permissions as r', 'r.permission_id', 'p.id').where('r.role_code', roleCode)
  }
  const permissions: RolePermission[] = await query.select('p.code', 'p.service')
  return permissions.sort((a, b) => (a.code < b.code ? -1 : 1))
}
