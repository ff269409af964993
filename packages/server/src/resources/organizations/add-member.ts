import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { recordEvent } from '../audit/record-event.ts'

/**
 * Makes a user a member with these roles. An existing membership is never changed (decisions 5). Returns whether it was made.
 * Called at once by many, one of them makes it; none does once the organization is deleted.
 */
export async function addMember(
  deps: Deps<Tx>,
  input: { organizationId: string; userId: string; roleCodes: readonly string[] },
  actor: Actor,
): Promise<boolean> {
  const { organizationId, userId, roleCodes } = input
  // Held, so that nobody deletes it before the membership is there.
  const organization = await deps.db('organizations').where({ id: organizationId }).forKeyShare().first('id')
  if (!organization) return false
  const now = deps.clock()
  const [membership] = await deps
    .db('organization_memberships')
    .insert({ id: newId(now), organization_id: organizationId, user_id: userId, created_at: now })
    .onConflict(['organization_id', 'user_id'])
    .ignore()
    .returning('id')
  if (!membership) return false
  await insertMemberRoles(deps, membership.id, roleCodes)
  const details = { organization_id: organizationId, before: null, after: { role_codes: roleCodes } }
  await recordEvent(deps, { event: 'membership.created', actor, userId, details })
  return true
}

export async function insertMemberRoles(deps: Deps<Tx>, membershipId: string, roleCodes: readonly string[]): Promise<void> {
  if (roleCodes.length === 0) return
  await deps.db('membership_roles').insert(roleCodes.map((role_code) => ({ membership_id: membershipId, role_code })))
}
