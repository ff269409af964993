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
 * Makes everybody else who changes this organization, its members or its invitations wait until this transaction ends. Not a lock on
 * the row: whoever joins by auto-provisioning refers to that, and must neither wait here nor be waited for. Where a user's row is
 * locked too, that comes first.
 */
export async function lockOrganization(deps: Deps<Tx>, id: string): Promise<void> {
  await lockUntilCommit(deps.db, 'organization', id)
}
