import { fieldError } from '../../errors.ts'
import type { Role } from '../../models/role.ts'

/** Organizations cannot give global roles. Throws `validation_failed`. */
export function assertAssignable(scope: Role['scope'], assignableBy: Role['assignable_by']): void {
  if (scope === 'global' && assignableBy === 'org_admin')
    throw fieldError('assignable_by', 'invalid_value', 'must be system_admin for a global role')
}
