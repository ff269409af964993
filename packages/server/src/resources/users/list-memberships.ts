import type { Deps } from '../../deps.ts'
import type { Membership } from '../../lib/records.ts'

/** The organizations of a user with the roles held in each, by slug; `organizationId` narrows to one. */
export async function listMemberships(deps: Deps, userId: string, organizationId?: string): Promise<Membership[]> {
  const query = deps
    .db('organization_memberships as m')
    .join('organizations as o', 'o.id', 'm.organization_id')
    .leftJoin('membership_roles as r', 'r.membership_id', 'm.id')
    .where('m.user_id', userId)
    .orderBy(['o.slug', 'r.role_code'])
    .select('o.id', 'o.slug', 'o.name', 'r.role_code')
  if (organizationId !== undefined) query.where('o.id', organizationId)
  const rows: { id: string; slug: string; name: string; role_code: string | null }[] = await query
  const memberships = new Map<string, Membership>()
  for (const { role_code, ...organization } of rows) {
    const membership = memberships.get(organization.id) ?? { ...organization, role_codes: [] }
    if (role_code !== null) membership.role_codes.push(role_code)
    memberships.set(organization.id, membership)
  }
  return [...memberships.values()]
}
