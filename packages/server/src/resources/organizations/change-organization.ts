import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { isForeignKeyViolation } from '../../lib/foreign-key-violation.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { App } from '../../models/app.ts'
import { Organization, type OrganizationRow } from '../../models/organization.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getOrganization, lockOrganization } from './get-organization.ts'
import { insertOrganization, slugTaken } from './insert-organization.ts'
import { presentOrganization } from './present.ts'
import type { CreateOrganizationInput, UpdateOrganizationInput } from './schema.ts'

/** Creates an organization without members. Throws `organization_slug_taken`. */
export async function createOrganization(
  deps: Deps<Pool>,
  input: CreateOrganizationInput,
  actor: Actor,
): Promise<OrganizationRow> {
  return transaction(deps, async (deps) => {
    const organization = await insertOrganization(deps, input)
    await recordEvent(deps, { event: 'organization.created', actor, details: { after: presentOrganization(organization) } })
    return organization
  })
}

/**
 * Changes the name or the slug of an organization; tokens carry a new slug from their next refresh on.
 * Throws `not_found`, `organization_slug_taken`.
 */
export async function updateOrganization(
  deps: Deps<Pool>,
  id: string,
  input: UpdateOrganizationInput,
  sentBack: SentBack,
  actor: Actor,
): Promise<OrganizationRow> {
  try {
    return await transaction(deps, async (deps) => {
      await lockOrganization(deps, id)
      const current = await getOrganization(deps, id)
      refuseChanged(changedMembers(sentBack, presentOrganization(current)))
      const changes = { name: input.name ?? current.name, slug: input.slug ?? current.slug }
      if (changes.name === current.name && changes.slug === current.slug) return current
      const updated = await Organization.update(deps.db, id, { ...changes, updated_at: deps.clock() })
      const details = { before: presentOrganization(current), after: presentOrganization(updated) }
      await recordEvent(deps, { event: 'organization.updated', actor, details })
      return updated
    })
  } catch (error) {
    if (isUniqueViolation(error)) throw slugTaken(String(input.slug), error)
    throw error
  }
}

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
