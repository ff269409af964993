import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { Organization } from '../../models/organization.ts'

/** Throws `not_found`. */
export async function getOrganization(deps: Deps, id: string): Promise<Organization> {
  const organization = await Organization.find(deps.db, id)
  if (!organization) throw new ApiError('not_found', { detail: 'No organization has this id' })
  return organization
}

/**
 * Makes other changes to this organization, its members and its invitations wait until this transaction ends. It does not lock
 * the row, since auto-provisioning refers to the row and must not wait. Lock the row of a user before this.
 */
export async function lockOrganization(deps: Deps<Tx>, id: string): Promise<void> {
  await lockUntilCommit(deps.db, 'organization', id)
}
