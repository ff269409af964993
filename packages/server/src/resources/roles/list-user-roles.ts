import type { Deps } from '../../deps.ts'
import { Role } from '../../models/role.ts'
import { getUser } from '../users/get-user.ts'

/** A global role that a user holds, since `assignedAt`, in milliseconds. */
export interface HeldRole {
  role: Role
  assignedAt: number
}

/** A user's global roles, by code. Throws `not_found`. */
export async function listUserRoles(deps: Deps, userId: string): Promise<HeldRole[]> {
  await getUser(deps, userId)
  const held: { role_code: string; created_at: number }[] = await deps
    .db('user_roles')
    .where({ user_id: userId })
    .select('role_code', 'created_at')
  const assignedAt = new Map(held.map(({ role_code, created_at }) => [role_code, created_at]))
  const roles = await Role.query(deps.db).whereIn('code', [...assignedAt.keys()])
  return roles
    .map((role) => ({ role, assignedAt: assignedAt.get(role.code)! }))
    .sort((a, b) => (a.role.code < b.role.code ? -1 : 1))
}
