import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertProven } from '../users/assert-proven.ts'
import { getUser, lockUser } from '../users/get-user.ts'
import { assertAdministrable } from '../users/last-system-admin.ts'
import type { PooledUser } from '../users/present.ts'
import type { HeldRole } from './get-role.ts'

/** Roles that open everything. An unproven account never gets one, because a stranger may have registered it. */
const platformRoles = ['system_admin', 'super_admin']

/**
 * Gives a user a global role. Tokens carry it from their next refresh on; the admin API applies it at once. `created` is false if
 * the user already held it. Throws `not_found`, also for a deleted user, `validation_failed` for an unknown or an org-scoped
 * role, and `account_unverified` for `system_admin` or `super_admin` to an unproven account.
 */
export async function assignRole(
  deps: Deps<Pool>,
  input: { userId: string; role_code: string },
  actor: Actor,
): Promise<{ created: boolean; held: HeldRole; user: PooledUser }> {
  return transaction(deps, async (deps) => {
    await lockUser(deps, input.userId)
    const role = await getGlobalRole(deps, input.role_code)
    const user = await getUser(deps, input.userId)
    if (platformRoles.includes(role.code)) assertProven(user)
    const now = deps.clock()
    const key = { user_id: input.userId, role_code: role.code }
    const created = await UserRole.insert(deps.db, { ...key, created_at: now })
    if (created) {
      await recordEvent(deps, { event: 'role.assigned', actor, userId: input.userId, details: { role_code: role.code } })
    }
    const held = await UserRole.find(deps.db, key)
    return { created, user, held: { role, assignedAt: held?.created_at ?? now } }
  })
}

/** Gets a global role and keeps it from being deleted until the transaction ends. Throws `validation_failed`. */
async function getGlobalRole(deps: Deps<Tx>, code: string): Promise<Role> {
  const role = await Role.findKept(deps.db, code)
  if (!role) throw fieldError('role_code', 'invalid_value', 'unknown role')
  if (role.scope !== 'global') throw fieldError('role_code', 'invalid_value', 'must be a global role')
  return role
}

/**
 * Takes a global role from a user. Access tokens that carry it die, and the next refresh brings one without it. Throws
 * `not_found`, also if the user does not hold the role, and `last_system_admin`.
 */
export async function unassignRole(deps: Deps<Pool>, input: { userId: string; roleCode: string }, actor: Actor): Promise<void> {
  const { userId, roleCode } = input
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    const isRemoved = await UserRole.delete(deps.db, { user_id: userId, role_code: roleCode })
    if (!isRemoved) throw new ApiError('not_found', { detail: 'The user does not hold this role' })
    if (roleCode === 'system_admin') await assertAdministrable(deps)
    await recordEvent(deps, { event: 'role.unassigned', actor, userId, details: { role_code: roleCode } })
    await raiseAccessFloor(deps, userId)
  })
}

/** Organizations cannot give global roles. Throws `validation_failed`. */
export function assertAssignable(scope: Role['scope'], assignableBy: Role['assignable_by']): void {
  if (scope === 'global' && assignableBy === 'org_admin')
    throw fieldError('assignable_by', 'invalid_value', 'must be system_admin for a global role')
}
