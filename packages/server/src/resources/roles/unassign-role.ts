import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { assertAdministrable } from '../users/assert-administrable.ts'
import { lockUser } from '../users/get-user.ts'

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
