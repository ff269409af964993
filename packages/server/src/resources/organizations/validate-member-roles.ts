import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError } from '../../errors.ts'
import { Role } from '../../models/role.ts'

/**
 * The roles that a request names for a member, sorted and each once. Throws `validation_failed` naming every entry that is no role or
 * a global one: nobody escalates by way of an organization.
 */
export async function validateMemberRoles(deps: Deps, codes: readonly string[]): Promise<string[]> {
  const roles = await Role.listScopes(deps.db, codes)
  const scopes = new Map(roles.map((role) => [role.code, role.scope]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const scope = scopes.get(code)
    if (scope === 'org') return []
    const message = scope === undefined ? 'names no role' : 'must be an org-scoped role'
    return [{ path: `role_codes.${index}`, code: 'invalid_value', message }]
  })
  if (errors.length > 0) {
    const detail = errors.map((error) => `${error.path}: ${error.message}`).join('; ')
    throw new ApiError('validation_failed', { detail: detail.slice(0, 500), errors })
  }
  return [...new Set(codes)].sort()
}
