import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { Permission } from '../../models/permission.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { unknownRole } from '../names/unknown-name.ts'
import { getUser } from '../users/get-user.ts'

/** Throws `not_found`. */
export async function getRole(deps: Deps, code: string): Promise<Role> {
  return known(deps, await Role.find(deps.db, code), code)
}

/** Gets the role and locks it. Other changes and deletions wait until the transaction ends; new references to it do not. */
export async function getRoleForChange(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await Role.findForChange(deps.db, code), code)
}

/** Gets the role and locks it. New references to it wait too, and then find it deleted. */
export async function getRoleForDeletion(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await Role.findForDeletion(deps.db, code), code)
}

async function known(deps: Deps, role: Role | undefined, code: string): Promise<Role> {
  if (!role) throw await unknownRole(deps, code)
  return role
}

/** Roles, by code. */
export async function listRoles(deps: Deps, request: PageRequest): Promise<Page<Role>> {
  return Role.listPage(deps.db, request)
}

export type HeldPermission = Pick<Permission, 'code' | 'service'>

/** The role that holds every permission without being assigned any. */
export const HOLDER_OF_ALL = 'super_admin'

/** The permissions of a role that are not pruned, by code. */
export async function listRolePermissions(deps: Deps, roleCode: string): Promise<HeldPermission[]> {
  const permissions = await Permission.listHeld(deps.db, roleCode === HOLDER_OF_ALL ? 'all' : { roleCode })
  return permissions.sort((a, b) => (a.code < b.code ? -1 : 1))
}

/** A global role that a user holds, since `assignedAt`, in milliseconds. */
export interface HeldRole {
  role: Role
  assignedAt: number
}

/** A user's global roles, by code. Throws `not_found`. */
export async function listUserRoles(deps: Deps, userId: string): Promise<HeldRole[]> {
  await getUser(deps, userId)
  const held = await UserRole.listOfUser(deps.db, userId)
  const roles = await Role.listByCodes(
    deps.db,
    held.map(({ role_code }) => role_code),
  )
  return held
    .flatMap(({ role_code, created_at }) => {
      const role = roles.find(({ code }) => code === role_code)
      return role ? [{ role, assignedAt: created_at }] : []
    })
    .sort((a, b) => (a.role.code < b.role.code ? -1 : 1))
}
