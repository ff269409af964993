import type { z } from 'zod'
import type { Deps } from '../../deps.ts'
import { grantStateAt } from '../../lib/grant-state.ts'
import { isoOrNull } from '../../lib/timestamps.ts'
import { UserApp } from '../../models/user-app.ts'
import { getUser } from './get-user.ts'
import { listGlobalRoles } from './list-global-roles.ts'
import { listMemberships } from './list-memberships.ts'
import { presentUser } from './present.ts'
import type { userDetail } from './schema.ts'

/** A user with pools, apps, roles and organizations, for an admin. Throws `not_found`. */
export async function describeUser(deps: Deps, id: string): Promise<z.output<typeof userDetail>> {
  const user = await getUser(deps, id)
  const apps = await UserApp.listStates(deps.db, id)
  const now = deps.clock()
  return {
    ...presentUser(user),
    apps: apps.map((app) => ({ ...app, effective: grantStateAt(app, now), expires_at: isoOrNull(app.expires_at) })),
    roles: await listGlobalRoles(deps, id),
    organizations: await listMemberships(deps, id),
    made_by: user.made_by,
  }
}
