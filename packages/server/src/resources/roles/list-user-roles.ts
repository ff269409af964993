import type { Deps } from '../../deps.ts'

/** The codes of a user's global roles, by name. */
export async function listGlobalRoles(deps: Deps, userId: string): Promise<string[]> {
  return deps.db('user_roles').where({ user_id: userId }).orderBy('role_code').pluck('role_code')
}
