import type { Deps } from '../../deps.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { App } from '../../models/app.ts'
import { presentAppRef } from '../../resources/apps/present.ts'
import { listMemberships } from '../../resources/organizations/list-memberships.ts'
import { listTokenPermissions } from '../../resources/permissions/list-token-permissions.ts'
import { listGlobalRoles } from '../../resources/roles/list-user-roles.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { presentUser } from '../../resources/users/present.ts'
import type { Profile } from './schema.ts'

/** The caller's own account as it is now, with the roles and permissions that a token of this session would get. */
export async function describeSelf(deps: Deps, caller: UserCaller): Promise<Profile> {
  const user = await getUser(deps, caller.userId)
  const app = caller.appId === null ? null : ((await App.query(deps.db).findById(caller.appId)) ?? null)
  const organizations = await listMemberships(deps, user.id)
  const current = organizations.find((organization) => organization.id === caller.claims.org_id)
  const roles = current?.role_codes ?? (await listGlobalRoles(deps, user.id))
  const factor = await deps.db('second_factors').where({ user_id: user.id }).whereNotNull('activated_at').first('user_id')
  return {
    user: presentUser(user),
    app: app ? presentAppRef(app) : null,
    roles,
    permissions: await listTokenPermissions(deps, app, roles),
    organizations,
    two_factor: factor !== undefined,
  }
}
