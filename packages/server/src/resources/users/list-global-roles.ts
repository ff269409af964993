import type { Deps } from '../../deps.ts'

/** A column of a statement over `users u`: the codes of a user's global roles, by name, as one text. */
export const globalRolesColumn = `(select string_agg(role_code, ' ' order by role_code) from user_roles where user_id = u.id) as global_roles`

/** The codes of a user's global roles, by name. */
export async function listGlobalRoles(deps: Deps, userId: string): Promise<string[]> {
  return deps.db('user_roles').where({ user_id: userId }).orderBy('role_code').pluck('role_code')
}
