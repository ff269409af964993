import type { Deps } from '../../deps.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { readCatalog } from '../../resources/catalog/read-catalog.ts'
import { listMemberships } from '../../resources/organizations/list-memberships.ts'
import { listGlobalRoles } from '../../resources/roles/list-user-roles.ts'
import { findActiveFactor } from '../../resources/second-factors/find-second-factor.ts'
import { resolveRights } from '../../resources/sessions/open-session.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { presentUser } from '../../resources/users/present.ts'
import type { Profile } from './schema.ts'

/** The caller's own account as it is now, with the roles and permissions that a token of this session would get. */
export async function describeSelf(deps: Deps, caller: UserCaller): Promise<Profile> {
  const user = await getUser(deps, caller.userId)
  const catalog = await readCatalog(deps, caller.catalogGeneration)
  const app = caller.appId === null ? null : ((await catalog.findApp({ id: caller.appId })) ?? null)
  const organizations = await listMemberships(deps, user.id)
  const membership = organizations.find((organization) => organization.id === caller.claims.org_id) ?? null
  const globalRoles = await listGlobalRoles(deps, user.id)
  const { roles, permissions } = await resolveRights(deps, { app, membership, globalRoles, catalog })
  return {
    user: presentUser(user),
    app: app ? presentAppRef(app) : null,
    roles,
    permissions: [...permissions],
    organizations,
    two_factor: (await findActiveFactor(deps, user.id)) !== undefined,
  }
}
