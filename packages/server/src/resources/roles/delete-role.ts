import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Role } from '../../models/role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { getRole, getRoleForDeletion } from './get-role.ts'
import { presentRole } from './present.ts'

/**
 * Deletes a role with its permissions, once no app names it and nobody holds it. Pending invitations do not keep it: whoever accepts
 * one gets the roles that are left. Throws `not_found`, `built_in`, `role_in_use`.
 */
export async function deleteRole(deps: Deps<Pool>, code: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    // Before the lock: every registration refers to base_user, and would wait.
    const { built_in } = await getRole(deps, code)
    if (built_in) throw new ApiError('built_in', { detail: `${code} cannot be deleted` })
    const role = await getRoleForDeletion(deps, code)
    await assertUnnamed(deps, code)
    await assertUnheld(deps, code)
    await renewCatalog(deps)
    // What a deleted user held is nobody's use of it.
    await deps.db('user_roles').where({ role_code: code }).delete()
    await deps.db('membership_roles').where({ role_code: code }).delete()
    await Role.query(deps.db).deleteById(code)
    await recordEvent(deps, { event: 'role.deleted', actor, details: { before: presentRole(role) } })
  })
}

async function assertUnnamed(deps: Deps, code: string): Promise<void> {
  // A JSON list of codes; `_` is the one character of a code that LIKE would read otherwise.
  const listed = `%"${code.replaceAll('_', '\\_')}"%`
  const app = await deps
    .db('apps')
    .where({ default_role_code: code })
    .orWhereRaw("override_role_codes like ? escape '\\'", [listed])
    .first('code')
  if (app) throw inUse(`The app ${app.code} names it`)
}

async function assertUnheld(deps: Deps, code: string): Promise<void> {
  const holder = await deps
    .db('user_roles as r')
    .join('users as u', 'u.id', 'r.user_id')
    .where('r.role_code', code)
    .whereNot('u.status', 'deleted')
    .first('u.id')
  const member = await deps
    .db('membership_roles as r')
    .join('organization_memberships as m', 'm.id', 'r.membership_id')
    .join('users as u', 'u.id', 'm.user_id')
    .where('r.role_code', code)
    .whereNot('u.status', 'deleted')
    .first('u.id')
  if (holder || member) throw inUse('Users hold it')
}

function inUse(detail: string): ApiError {
  return new ApiError('role_in_use', { detail })
}
