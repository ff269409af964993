import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type FieldError, validationFailed } from '../../errors.ts'
import { Role } from '../../models/role.ts'

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
