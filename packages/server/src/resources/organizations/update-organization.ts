import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { refuseChanged } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { isUniqueViolation } from '../../lib/unique-violation.ts'
import { Organization, type OrganizationRow } from '../../models/organization.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getOrganization, lockOrganization } from './get-organization.ts'
import { slugTaken } from './insert-organization.ts'
import { presentOrganization } from './present.ts'
import type { UpdateOrganizationInput } from './schema.ts'

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
