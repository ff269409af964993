import type { Deps } from '../../deps.ts'
import { newId } from '../../lib/uuid.ts'

/**
 * Makes a user a member with these roles. An existing membership is never changed (decisions 5). Returns whether it was made.
 * Called at once by many, one of them makes it.
 */
export async function addMember(
  deps: Deps,
  input: { organizationId: string; userId: string; roleCodes: readonly string[] },
): Promise<boolean> {
  const now = deps.clock()
  const [membership] = await deps
    .db('organization_memberships')
    .insert({ id: newId(now), organization_id: input.organizationId, user_id: input.userId, created_at: now })
    .onConflict(['organization_id', 'user_id'])
    .ignore()
    .returning('id')
  if (!membership) return false
  if (input.roleCodes.length > 0) {
    await deps.db('membership_roles').insert(input.roleCodes.map((role_code) => ({ membership_id: membership.id, role_code })))
  }
  return true
}
