import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FieldError, validationFailed } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Role } from '../../models/role.ts'
import { UserRole } from '../../models/user-role.ts'
import type { NewAuditEvent } from '../audit/record-event.ts'

/** The role that every user holds. */
export const BASE_ROLE = 'base_user'

/**
 * The global roles of a new user, each once: `base_user` and those named. They cannot be deleted until the transaction ends.
 * Throws `validation_failed` naming each code without a global role.
 */
export async function resolveGlobalRoles(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  const roles = await Role.listKept(deps.db, codes)
  const scopes = new Map(roles.map(({ code, scope }) => [code, scope]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const scope = scopes.get(code)
    if (scope === 'global') return []
    return [{ path: `roles.${index}`, code: 'invalid_value', message: scope ? 'must be a global role' : 'unknown role' }]
  })
  if (errors.length > 0) throw validationFailed(errors)
  return [...new Set([BASE_ROLE, ...codes])]
}

/** The codes of a user's global roles, by name. */
export async function listGlobalRoles(deps: Deps, userId: string): Promise<string[]> {
  return UserRole.listCodes(deps.db, userId)
}

/** The audit events of the roles that a user is made with or gains. `base_user` has no event, because every user holds it. */
export function assignedRoles(userId: string, roles: Iterable<string>, actor: Actor): NewAuditEvent[] {
  return [...roles]
    .filter((role) => role !== BASE_ROLE)
    .map((role_code) => ({ event: 'role.assigned', actor, userId, details: { role_code } }))
}
