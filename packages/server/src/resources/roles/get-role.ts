import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { Role } from '../../models/role.ts'

/** Throws `not_found`. */
export async function getRole(deps: Deps, code: string): Promise<Role> {
  return known(await Role.find(deps.db, code))
}

/** Gets the role and locks it. Other changes and a deletion wait until the transaction ends; a reference to it does not. */
export async function getRoleForChange(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(await Role.findForChange(deps.db, code))
}

/** Gets the role and locks it. A reference to it waits too, and then finds it deleted. */
export async function getRoleForDeletion(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(await Role.findForDeletion(deps.db, code))
}

function known(role: Role | undefined): Role {
  if (!role) throw new ApiError('not_found', { detail: 'No role has this code' })
  return role
}
