import type { Deps } from '../../deps.ts'
import { Role } from '../../models/role.ts'
import { assertRoleScopes } from '../users/assert-role-scopes.ts'

/**
 * The roles that a request names for a member, sorted and each once. Throws `validation_failed` naming every entry that is no role or
 * a global one: nobody escalates by way of an organization.
 */
export async function validateMemberRoles(deps: Deps, codes: readonly string[]): Promise<string[]> {
  assertRoleScopes('role_codes', codes, await Role.listScopes(deps.db, codes), 'org')
  return [...new Set(codes)].sort()
}
