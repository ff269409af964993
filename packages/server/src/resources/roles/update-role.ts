import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { Role } from '../../models/role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertAssignable } from './assert-assignable.ts'
import { getRoleForChange } from './get-role.ts'
import { presentRole } from './present.ts'
import type { UpdateRoleInput } from './schema.ts'

/**
 * Changes the name or description of a role, or who gives it. The role may be built in. The scope never changes, because a global
 * role is never held in an organization. Throws `not_found`, `code_immutable`, `built_in`, `validation_failed`.
 */
export async function updateRole(
  deps: Deps<Pool>,
  code: string,
  input: UpdateRoleInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<Role> {
  return transaction(deps, async (deps) => {
    const current = await getRoleForChange(deps, code)
    refuseChanged(changedMembers(sentBack, presentRole(current)))
    if (input.scope !== undefined && input.scope !== current.scope) throw scopeImmutable(current)
    const changes = {
      name: input.name ?? current.name,
      description: input.description === undefined ? current.description : input.description,
      assignable_by: input.assignable_by ?? current.assignable_by,
    }
    assertAssignable(current.scope, changes.assignable_by)
    const isSame = (['name', 'description', 'assignable_by'] as const).every((field) => changes[field] === current[field])
    if (isSame) return current
    const updated = await Role.update(deps.db, code, { ...changes, updated_at: deps.clock() })
    const details = { before: presentRole(current), after: presentRole(updated) }
    await recordEvent(deps, { event: 'role.updated', actor, details })
    return updated
  })
}

function scopeImmutable(role: Role): ApiError {
  if (role.built_in) return new ApiError('built_in', { detail: `The scope of ${role.code} cannot be changed` })
  return fieldError('scope', 'invalid_value', 'cannot be changed')
}
