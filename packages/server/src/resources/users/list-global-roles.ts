import type { Deps } from '../../deps.ts'
import { UserRole } from '../../models/user-role.ts'

/** The codes of a user's global roles, by name. */
export async function listGlobalRoles(deps: Deps, userId: string): Promise<string[]> {
  return UserRole.listCodes(deps.db, userId)
}
