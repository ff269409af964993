import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import type { Membership } from '../../lib/records.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addMember } from './add-member.ts'
import { insertOrganization } from './insert-organization.ts'
import { presentOrganization } from './present.ts'

const founderRole = 'org_admin'

/** Founds an organization with the user as its admin. A slug that is taken gets a suffix. */
export async function foundOrganization(
  deps: Deps<Tx>,
  input: { name: string; userId: string; appId: string | null },
  actor: Actor,
): Promise<Membership> {
  const organization = await insertOrganization(deps, { name: input.name })
  await recordEvent(deps, {
    event: 'organization.created',
    actor,
    userId: input.userId,
    appId: input.appId,
    details: { after: presentOrganization(organization) },
  })
  await addMember(deps, { organizationId: organization.id, userId: input.userId, roleCodes: [founderRole] }, actor)
  return { id: organization.id, slug: organization.slug, name: organization.name, role_codes: [founderRole] }
}
