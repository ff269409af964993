import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { fieldError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Role } from '../../models/role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertProven } from '../users/assert-proven.ts'
import { getUser, lockUser } from '../users/get-user.ts'
import type { HeldRole } from './list-user-roles.ts'

/** Roles that open everything: nobody is given one by the address of an account that somebody else may have registered. */
const platformRoles = ['system_admin', 'super_admin']

/**
 * Gives a user a global role; tokens carry it from their next refresh on, the admin API knows it at once. Returns whether the user did
 * not hold it before. Throws `not_found`, also for a deleted user, `validation_failed` for an unknown or an org-scoped role, and
 * `account_unverified` for `system_admin` or `super_admin` to an unproven account.
 */
export async function assignRole(
  deps: Deps<Pool>,
  input: { userId: string; role_code: string },
  actor: Actor,
): Promise<{ created: boolean; held: HeldRole }> {
  return transaction(deps, async (deps) => {
    await lockUser(deps, input.userId)
    const role = await getGlobalRole(deps, input.role_code)
    if (platformRoles.includes(role.code)) assertProven(await getUser(deps, input.userId))
    const key = { user_id: input.userId, role_code: role.code }
    const inserted = await deps
      .db('user_roles')
      .insert({ ...key, created_at: deps.clock() })
      .onConflict(['user_id', 'role_code'])
      .ignore()
      .returning('user_id')
    const created = inserted.length > 0
    if (created) {
      await recordEvent(deps, { event: 'role.assigned', actor, userId: input.userId, details: { role_code: role.code } })
    }
    const { created_at: assignedAt } = await deps.db('user_roles').where(key).first('created_at')
    return { created, held: { role, assignedAt } }
  })
}

/** A role that a request names for a user, kept from being deleted until the transaction ends. */
async function getGlobalRole(deps: Deps, code: string): Promise<Role> {
  const role = await Role.query(deps.db).findById(code).forKeyShare()
  if (!role) throw fieldError('role_code', 'invalid_value', 'names no role')
  if (role.scope !== 'global') throw fieldError('role_code', 'invalid_value', 'must be a global role')
  return role
}
