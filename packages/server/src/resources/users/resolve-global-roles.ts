import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { Role } from '../../models/role.ts'
import { assertRoleScopes } from './assert-role-scopes.ts'

/** The role that every user holds. */
export const BASE_ROLE = 'base_user'

/**
 * The global roles of a new user, each once: `base_user` and those named. They cannot be deleted until the transaction ends.
 * Throws `validation_failed` naming each code without a global role.
 */
export async function resolveGlobalRoles(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  assertRoleScopes('roles', codes, await Role.listKept(deps.db, codes), 'global')
  return [...new Set([BASE_ROLE, ...codes])]
}
