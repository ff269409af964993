import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { OrganizationRow } from '../../models/organization.ts'
import { recordEvent } from '../audit/record-event.ts'
import { insertOrganization } from './insert-organization.ts'
import { presentOrganization } from './present.ts'
import type { CreateOrganizationInput } from './schema.ts'

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
