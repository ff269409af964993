import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { Role } from '../../models/role.ts'

/** Throws `not_found`. */
export async function getRole(deps: Deps, code: string): Promise<Role> {
  return known(await Role.find(deps.db, code))
}

/** Gets the role and locks it. Other changes and deletions wait until the transaction ends; new references to it do not. */
export async function getRoleForChange(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(await Role.findForChange(deps.db, code))
}

/** Gets the role and locks it. New references to it wait too, and then find it deleted. */
export async function getRoleForDeletion(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(await Role.findForDeletion(deps.db, code))
}

function known(role: Role | undefined): Role {
  if (!role) throw new ApiError('not_found', { detail: 'No role has this code' })
  return role
}
