import type { Deps } from '../../deps.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { getUser } from '../users/get-user.ts'

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
