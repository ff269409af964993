import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { Role } from '../../models/role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertAssignable } from './assert-assignable.ts'
import { presentRole } from './present.ts'
import type { CreateRoleInput } from './schema.ts'

/** Creates a role that holds no permission yet. Throws `role_code_taken`, `validation_failed`. */
export async function createRole(deps: Deps<Pool>, { description, ...input }: CreateRoleInput, actor: Actor): Promise<Role> {
  const now = deps.clock()
  const { scope, assignable_by = 'system_admin' } = input
  assertAssignable(scope, assignable_by)
  const stamps = { created_at: now, updated_at: now }
  const row = { ...input, assignable_by, description: description ?? null, built_in: false, ...stamps }
  try {
    return await transaction(deps, async (deps) => {
      const role = await Role.insert(deps.db, row)
      await recordEvent(deps, { event: 'role.created', actor, details: { after: presentRole(role) } })
      return role
    })
  } catch (error) {
    if (!isUniqueViolation(error)) throw error
    throw new ApiError('role_code_taken', { detail: `Another role has the code ${input.code}`, cause: error })
  }
}
