import type { Deps } from '../../deps.ts'
import { chunksOf } from '../../lib/chunks.ts'
import type { LivePermission } from './plan-registration.ts'

export interface Losses {
  roles: { code: string; permissions: string[]; user_count: number }[]
  user_count: number
}

/** The roles that hold any of these permissions, and how many users, deleted ones aside, hold those roles. */
export async function listLosses(deps: Deps, pruned: readonly LivePermission[]): Promise<Losses> {
  const codeOf = new Map(pruned.map(({ id, code }) => [id, code]))
  const lost = new Map<string, string[]>()
  for (const chunk of chunksOf(pruned)) {
    const ids = chunk.map(({ id }) => id)
    const query = deps.db('role_permissions').whereIn('permission_id', ids)
    const rows: { role_code: string; permission_id: string }[] = await query.select('role_code', 'permission_id')
    for (const { role_code, permission_id } of rows) {
      const codes = lost.get(role_code) ?? []
      codes.push(codeOf.get(permission_id)!)
      lost.set(role_code, codes)
    }
  }
  const roleCodes = [...lost.keys()].sort()
  const perRole: { role_code: string; n: number }[] = await holdersOf(deps, roleCodes)
    .groupBy('role_code')
    .select('role_code')
    .count({ n: '*' })
  const counts = new Map(perRole.map(({ role_code, n }) => [role_code, Number(n)]))
  const [total] = await holdersOf(deps, roleCodes).countDistinct({ n: 'users.id' })
  return {
    roles: roleCodes.map((code) => ({ code, permissions: lost.get(code)!.sort(), user_count: counts.get(code) ?? 0 })),
    user_count: Number(total!.n),
  }
}

/** One row per role and user, however many organizations the user holds it in. */
function holdersOf(deps: Deps, roleCodes: readonly string[]) {
  const global = deps.db('user_roles').whereIn('role_code', roleCodes).select('role_code', 'user_id')
  const inOrganizations = deps
    .db('membership_roles as r')
    .join('organization_memberships as m', 'm.id', 'r.membership_id')
    .whereIn('r.role_code', roleCodes)
    .select('r.role_code', 'm.user_id')
  return deps
    .db(global.union(inOrganizations).as('holders'))
    .join('users', 'users.id', 'holders.user_id')
    .whereNot('users.status', 'deleted')
}
