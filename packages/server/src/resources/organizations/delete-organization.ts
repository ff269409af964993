import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isForeignKeyViolation } from '../../lib/foreign-key-violation.ts'
import { App } from '../../models/app.ts'
import { Organization } from '../../models/organization.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getOrganization, lockOrganization } from './get-organization.ts'
import { presentOrganization } from './present.ts'

/**
 * Deletes an organization with its invitations, once no app names it and no user is a member.
 * Throws `not_found`, `organization_in_use`.
 */
export async function deleteOrganization(deps: Deps<Pool>, id: string, actor: Actor): Promise<void> {
  try {
    await transaction(deps, async (deps) => {
      await lockOrganization(deps, id)
      const organization = await getOrganization(deps, id)
      await assertUnused(deps, id)
      // Memberships of deleted users do not block the deletion.
      await OrganizationMembership.deleteOfDeleted(deps.db, id)
      await Organization.delete(deps.db, id)
      await recordEvent(deps, { event: 'organization.deleted', actor, details: { before: presentOrganization(organization) } })
    })
  } catch (error) {
    // An app was pointed at it, or a user auto-joined it, since we looked.
    if (isForeignKeyViolation(error)) throw inUse(error)
    throw error
  }
}

async function assertUnused(deps: Deps, id: string): Promise<void> {
  if (await App.findByOrganization(deps.db, id)) throw inUse()
  if (await OrganizationMembership.hasMembers(deps.db, id)) throw inUse()
}

function inUse(cause?: unknown): ApiError {
  return new ApiError('organization_in_use', { detail: 'An app refers to it, or users are members', cause })
}
