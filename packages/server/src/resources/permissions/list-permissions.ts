import type { Deps } from '../../deps.ts'
import { type FieldError, validationFailed } from '../../errors.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { type LivePermission, Permission } from '../../models/permission.ts'
import { Role } from '../../models/role.ts'
import { RolePermission } from '../../models/role-permission.ts'

/** The permissions that are not pruned, newest first. */
export async function listPermissions(
  deps: Deps,
  request: PageRequest & { service?: string | undefined },
): Promise<Page<Permission>> {
  return Permission.listPage(deps.db, request)
}

export interface Losses {
  roles: { code: string; permissions: string[]; user_count: number }[]
  user_count: number
}

/** The roles that hold any of these permissions, and how many users hold those roles. Deleted users do not count. */
export async function listLosses(deps: Deps, pruned: readonly LivePermission[]): Promise<Losses> {
  const held = await RolePermission.listOf(
    deps.db,
    pruned.map(({ id }) => id),
  )
  const idsOf = new Map<string, Set<string>>()
  for (const { role_code, permission_id } of held) idsOf.set(role_code, (idsOf.get(role_code) ?? new Set()).add(permission_id))
  const roles = [...idsOf].map(([code, ids]) => {
    const lost = pruned.filter(({ id }) => ids.has(id))
    return { code, permissions: lost.map((permission) => permission.code).sort() }
  })
  roles.sort((a, b) => (a.code < b.code ? -1 : 1))
  const codes = roles.map(({ code }) => code)
  const counted = await Role.countHolders(deps.db, codes)
  const counts = new Map(counted.map(({ role_code, n }) => [role_code, n]))
  return {
    roles: roles.map((role) => ({ ...role, user_count: counts.get(role.code) ?? 0 })),
    user_count: await Role.countAllHolders(deps.db, codes),
  }
}

/** The ids of the live permissions that a request names in this field. Throws `validation_failed` naming each unknown one. */
export async function resolvePermissionIds(deps: Deps, codes: readonly string[], field: string): Promise<string[]> {
  const live = await Permission.listLiveIds(deps.db, codes)
  const idOf = new Map(live.map(({ id, code }) => [code, id]))
  const errors = codes.flatMap((code, index): FieldError[] =>
    idOf.has(code) ? [] : [{ path: `${field}.${index}`, code: 'invalid_value', message: 'unknown permission' }],
  )
  if (errors.length > 0) throw validationFailed(errors)
  return [...idOf.values()]
}
