import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { Role } from '../../models/role.ts'
import { unknownRole } from '../names/unknown-name.ts'

/** Throws `not_found`. */
export async function getRole(deps: Deps, code: string): Promise<Role> {
  return known(deps, await Role.find(deps.db, code), code)
}

/** Gets the role and locks it. Other changes and deletions wait until the transaction ends; new references to it do not. */
export async function getRoleForChange(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await Role.findForChange(deps.db, code), code)
}

/** Gets the role and locks it. New references to it wait too, and then find it deleted. */
export async function getRoleForDeletion(deps: Deps<Tx>, code: string): Promise<Role> {
  return known(deps, await Role.findForDeletion(deps.db, code), code)
}

async function known(deps: Deps, role: Role | undefined, code: string): Promise<Role> {
  if (!role) throw await unknownRole(deps, code)
  return role
}
