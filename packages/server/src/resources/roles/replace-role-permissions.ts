import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Permission } from '../../models/permission.ts'
import { RolePermission } from '../../models/role-permission.ts'
import { recordEvent } from '../audit/record-event.ts'
import { renewCatalog } from '../catalog/renew-catalog.ts'
import { type TokenSizeWarning, tokenSizeMember, warnOfTokenSize } from '../catalog/warn-of-token-size.ts'
import { resolvePermissionIds } from '../permissions/list-permissions.ts'
import { getRoleForChange, type HeldPermission, HOLDER_OF_ALL, listRolePermissions } from './get-role.ts'

/** The permissions that a role holds now, and warnings for the caller. */
export interface ChangedPermissions {
  items: HeldPermission[]
  warnings?: TokenSizeWarning[]
}

/**
 * Replaces the permissions of a role with these. Assignments of pruned permissions end too, so that none of them can come back.
 * Throws `not_found`, `built_in`, `validation_failed` naming each unknown code.
 */
export async function replaceRolePermissions(
  deps: Deps<Pool>,
  input: { roleCode: string; permissions: readonly string[] },
  actor: Actor,
): Promise<ChangedPermissions> {
  return warned(deps, input.roleCode, actor, async (deps) => {
    const wanted = await resolvePermissionIds(deps, input.permissions, 'permissions')
    const held = await RolePermission.listPermissionIds(deps.db, input.roleCode)
    const kept = new Set(wanted)
    const removed = await RolePermission.delete(
      deps.db,
      input.roleCode,
      held.filter((id) => !kept.has(id)),
    )
    return (await assign(deps, input.roleCode, wanted)) + removed
  })
}

/** Adds permissions to a role. Throws like `replaceRolePermissions`. */
export async function addRolePermissions(
  deps: Deps<Pool>,
  input: { roleCode: string; permissions: readonly string[] },
  actor: Actor,
): Promise<ChangedPermissions> {
  return warned(deps, input.roleCode, actor, async (deps) =>
    assign(deps, input.roleCode, await resolvePermissionIds(deps, input.permissions, 'permissions')),
  )
}

/**
 * Removes a permission from a role, even a pruned one, so that it does not come back. Throws `not_found`, also if the role does
 * not hold it, and `built_in`.
 */
export async function removeRolePermission(
  deps: Deps<Pool>,
  input: { roleCode: string; permission: string },
  actor: Actor,
): Promise<void> {
  await changeAssignments(deps, input.roleCode, actor, async (deps) => {
    const ids = await Permission.listIds(deps.db, [input.permission])
    const removed = await RolePermission.delete(deps.db, input.roleCode, ids)
    if (removed === 0) throw new ApiError('not_found', { detail: `${input.roleCode} does not hold ${input.permission}` })
    return removed
  })
}

/** Like `changeAssignments`. Also warns of apps whose tokens carry the permissions of roles and are too long. */
async function warned(...change: Parameters<typeof changeAssignments>): Promise<ChangedPermissions> {
  const items = await changeAssignments(...change)
  const warnings = await warnOfTokenSize(change[0], ({ permission_scope }) => permission_scope === 'roles')
  return { items, ...tokenSizeMember(warnings) }
}

/** Runs a change, and audits it if it wrote any assignment. Changes to the same role run one at a time. */
async function changeAssignments(
  deps: Deps<Pool>,
  roleCode: string,
  actor: Actor,
  change: (deps: Deps<Tx>) => Promise<number>,
): Promise<HeldPermission[]> {
  return transaction(deps, async (deps) => {
    await getRoleForChange(deps, roleCode)
    if (roleCode === HOLDER_OF_ALL) throw new ApiError('built_in', { detail: `${roleCode} holds every permission` })
    const before = await listRolePermissions(deps, roleCode)
    await renewCatalog(deps)
    const written = await change(deps)
    if (written === 0) return before
    const after = await listRolePermissions(deps, roleCode)
    const details = { role_code: roleCode, before: codesOf(before), after: codesOf(after) }
    await recordEvent(deps, { event: 'role_permissions.changed', actor, details })
    return after
  })
}

/** Returns how many were not assigned before. */
async function assign(deps: Deps<Tx>, roleCode: string, permissionIds: readonly string[]): Promise<number> {
  const now = deps.clock()
  const rows = permissionIds.map((permission_id) => ({ role_code: roleCode, permission_id, created_at: now }))
  return RolePermission.insert(deps.db, rows)
}

function codesOf(permissions: readonly HeldPermission[]): { permissions: string[] } {
  return { permissions: permissions.map(({ code }) => code) }
}
