import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, validationFailed } from '../../errors.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import { type GivableRole, Role } from '../../models/role.ts'
import type { Governed } from './get-governed-organization.ts'

interface Giving extends Pick<Governed, 'by'> {
  /** The roles that the member has. */
  held: readonly string[]
}

/**
 * The roles that a request names for a member, sorted and unique. Throws `validation_failed`, naming each code that is not an
 * org-scoped role. An org_admin may add and remove only roles that are `assignable_by` an org_admin, even for themselves.
 */
export async function validateMemberRoles(deps: Deps, codes: readonly string[], { by, held }: Giving): Promise<string[]> {
  const roles = await Role.listGivable(deps.db, [...codes, ...held])
  const byCode = new Map(roles.map((role) => [role.code, role]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const message = faultOf(byCode.get(code), held.includes(code) ? SYSTEM_ADMIN : by)
    return message === undefined ? [] : [{ path: `role_codes.${index}`, code: 'invalid_value', message }]
  })
  for (const { code } of keptRoles(roles, { by, held })) {
    if (!codes.includes(code))
      errors.push({
        path: 'role_codes',
        code: 'invalid_value',
        message: `leaves out ${code}, which only a system_admin can remove`,
      })
  }
  if (errors.length > 0) throw validationFailed(errors)
  return [...new Set(codes)].sort()
}

/** Throws `system_admin_required` if the member holds a role that the caller may not take away. */
export async function assertRolesTakeable(deps: Deps, giving: Giving): Promise<void> {
  const [kept] = keptRoles(await Role.listGivable(deps.db, giving.held), giving)
  if (kept)
    throw new ApiError('system_admin_required', { detail: `The member holds ${kept.code}, which only a system_admin can remove` })
}

/** Those of the codes that are still org-scoped roles and that the giver may still give, by name. */
export async function listGivableCodes(deps: Deps, codes: readonly string[], by: Governed['by']): Promise<string[]> {
  const roles = await Role.listGivable(deps.db, codes)
  return roles.filter((role) => faultOf(role, by) === undefined).map(({ code }) => code)
}

function faultOf(role: GivableRole | undefined, by: Governed['by']): string | undefined {
  if (!role) return 'unknown role'
  if (role.scope !== 'org') return 'must be an org-scoped role'
  return isGivenBy(role, by) ? undefined : 'can only be given by a system_admin'
}

function keptRoles(roles: readonly GivableRole[], { by, held }: Giving): GivableRole[] {
  return roles.filter((role) => held.includes(role.code) && !isGivenBy(role, by))
}

function isGivenBy(role: GivableRole, by: Governed['by']): boolean {
  return by === SYSTEM_ADMIN || role.assignable_by === 'org_admin'
}
