import type { Deps } from '../../deps.ts'
import { Permission } from '../../models/permission.ts'

export type HeldPermission = Pick<Permission, 'code' | 'service'>

/** The role that holds every permission without being assigned any. */
export const HOLDER_OF_ALL = 'super_admin'

/** The permissions of a role that are not pruned, by code. */
export async function listRolePermissions(deps: Deps, roleCode: string): Promise<HeldPermission[]> {
  const permissions = await Permission.listHeld(deps.db, roleCode === HOLDER_OF_ALL ? 'all' : { roleCode })
  return permissions.sort((a, b) => (a.code < b.code ? -1 : 1))
}
