import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError, refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { App } from '../../models/app.ts'
import { MembershipRole } from '../../models/membership-role.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { assertAssignable } from './assign-role.ts'
import { getRole, getRoleForChange, getRoleForDeletion } from './get-role.ts'
import { presentRole } from './present.ts'
import type { CreateRoleInput, UpdateRoleInput } from './schema.ts'

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
