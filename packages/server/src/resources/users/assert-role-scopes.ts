import { type FieldError, validationFailed } from '../../errors.ts'
import type { Role } from '../../models/role.ts'

/**
 * Throws `validation_failed` naming each code without a role or with a role of the other scope. `roles` are the existing ones.
 */
export function assertRoleScopes(
  field: 'roles' | 'role_codes',
  codes: readonly string[],
  roles: readonly Pick<Role, 'code' | 'scope'>[],
  wanted: Role['scope'],
): void {
  const scopes = new Map(roles.map((role) => [role.code, role.scope]))
  const kind = wanted === 'org' ? 'an org-scoped' : 'a global'
  const errors = codes.flatMap((code, index): FieldError[] => {
    const scope = scopes.get(code)
    if (scope === wanted) return []
    return [{ path: `${field}.${index}`, code: 'invalid_value', message: scope ? `must be ${kind} role` : 'names no role' }]
  })
  if (errors.length > 0) throw validationFailed(errors)
}
