import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { getRole, getRoleForDeletion } from './get-role.ts'
import { presentRole } from './present.ts'

/**
 * Deletes a role with its permissions, unless an app names it or a user holds it. Pending invitations do not keep it: accepting
 * one gives the remaining roles. Throws `not_found`, `built_in`, `role_in_use`.
 */
export async function deleteRole(deps: Deps<Pool>, code: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    // Check this before the lock: every registration refers to base_user, and would wait.
    const { built_in } = await getRole(deps, code)
    if (built_in) throw new ApiError('built_in', { detail: `${code} cannot be deleted` })
    const role = await getRoleForDeletion(deps, code)
    await assertUnnamed(deps, code)
    await assertUnheld(deps, code)
    await renewCatalog(deps)
    // Roles of deleted users do not keep the role.
    await UserRole.deleteOfRole(deps.db, code)
    await MembershipRole.deleteOfRole(deps.db, code)
    await Role.delete(deps.db, code)
    await recordEvent(deps, { event: 'role.deleted', actor, details: { before: presentRole(role) } })
  })
}

async function assertUnnamed(deps: Deps, code: string): Promise<void> {
  const app = await App.findByRole(deps.db, code)
  if (app) throw inUse(`The app ${app.code} refers to it`)
}

async function assertUnheld(deps: Deps, code: string): Promise<void> {
  const isGlobal = await UserRole.hasHolder(deps.db, code)
  const isOfMembers = await MembershipRole.hasHolder(deps.db, code)
  if (isGlobal || isOfMembers) throw inUse('Users hold it')
}

function inUse(detail: string): ApiError {
  return new ApiError('role_in_use', { detail })
}
