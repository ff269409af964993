import type { Deps } from '../../deps.ts'

export interface StoredMembership {
  id: string
  created_at: number
  roleCodes: string[]
}

/** One user's membership of one organization. */
export async function findMembership(
  deps: Deps,
  key: { organizationId: string; userId: string },
): Promise<StoredMembership | undefined> {
  const membership: { id: string; created_at: number } | undefined = await deps
    .db('organization_memberships')
    .where({ organization_id: key.organizationId, user_id: key.userId })
    .first('id', 'created_at')
  if (!membership) return undefined
  const roleCodes = await deps
    .db('membership_roles')
    .where({ membership_id: membership.id })
    .orderBy('role_code')
    .pluck('role_code')
  return { ...membership, roleCodes }
}
