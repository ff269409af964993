import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { App } from '../../models/app.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserRole } from '../../models/user-role.ts'
import { userOf } from './present.ts'

/**
 * Throws `last_system_admin` unless an active system_admin can enter an active app of AUTH_ADMIN_APP_CODES. Call it right after
 * the change (a role, a state, a grant, a pool, an app), in its transaction. If admins remove one another concurrently, on any
 * number of servers, one stays.
 */
export async function assertAdministrable(deps: Deps<Tx>): Promise<void> {
  await lockUntilCommit(deps.db, 'system_admins')
  if (await isAdministrable(deps)) return
  throw new ApiError('last_system_admin', {
    detail: 'First make another active user system_admin who can enter an active app of AUTH_ADMIN_APP_CODES',
  })
}

/** Like `assertAdministrable`, after a change to one user. Checks only if the user is a system_admin. */
export async function assertAdministrableWithout(deps: Deps<Tx>, userId: string): Promise<void> {
  if (await holdsAdminRole(deps, userId)) await assertAdministrable(deps)
}

export async function holdsAdminRole(deps: Deps, userId: string): Promise<boolean> {
  return (await UserRole.find(deps.db, { user_id: userId, role_code: SYSTEM_ADMIN })) !== undefined
}

async function isAdministrable(deps: Deps): Promise<boolean> {
  const admins = (await User.listActiveHolders(deps.db, SYSTEM_ADMIN)).map(userOf)
  const codes = deps.config.adminAppCodes
  const apps = await App.listActive(deps.db, codes.includes('*') ? undefined : codes)
  const revoked = await UserApp.listRevoked(
    deps.db,
    admins.map(({ id }) => id),
  )
  // Neither an expired grant nor a missing one keeps a system_admin out.
  const isRevoked = (userId: string, appId: string) =>
    revoked.some(({ user_id, app_id }) => user_id === userId && app_id === appId)
  return admins.some((user) => apps.some((app) => isInPools(user, poolSet(app)) && !isRevoked(user.id, app.id)))
}
