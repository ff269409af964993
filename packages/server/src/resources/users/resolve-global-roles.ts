import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError } from '../../errors.ts'
import { Role } from '../../models/role.ts'

/** The role that every user holds. */
export const BASE_ROLE = 'base_user'

/**
 * The global roles of a new user, each once: `base_user` and those named. They are kept from being deleted until the transaction ends.
 * Throws `validation_failed` naming every entry that is no role or an org-scoped one.
 */
export async function resolveGlobalRoles(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  const roles = await Role.listKept(deps.db, codes)
  const scopes = new Map(roles.map((role) => [role.code, role.scope]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const scope = scopes.get(code)
    if (scope === 'global') return []
    return [{ path: `roles.${index}`, code: 'invalid_value', message: scope ? 'must be a global role' : 'names no role' }]
  })
  if (errors.length > 0) {
    const detail = errors.map((error) => `${error.path}: ${error.message}`).join('; ')
    throw new ApiError('validation_failed', { detail: detail.slice(0, 500), errors })
  }
  return [...new Set([BASE_ROLE, ...codes])]
}
