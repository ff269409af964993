import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { App, type NamedApp } from '../../models/app.ts'
import { Service } from '../../models/service.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserRole } from '../../models/user-role.ts'
import { systemActor } from '../../resources/audit/record-event.ts'
import { giveGrants } from '../../resources/grants/give-grants.ts'
import { isAdministrable } from '../../resources/users/last-system-admin.ts'
import { userOf } from '../../resources/users/present.ts'

/**
 * After an upgrade from a version in which a system_admin entered every app without a grant: grants each of them the apps of
 * AUTH_ADMIN_APP_CODES in whose pools they are, `*` meaning every active app. Grants that exist stay as they are. Runs once for a
 * database, however many servers start, and again at the next start if no system_admin can enter any of the apps: the setting may
 * be mistyped. Returns how many grants it gave.
 */
export async function grantAdminApps(deps: Deps<Pool>): Promise<number> {
  return transaction(deps, async (deps) => {
    if (!(await Service.takeAdminGrantsDue(deps.db))) return 0
    const ids = await UserRole.listHolders(deps.db, SYSTEM_ADMIN)
    await User.lockAll(deps.db, ids)
    const admins = (await User.listByIds(deps.db, ids)).map(userOf)
    const grants = await UserApp.listOfUsers(deps.db, ids)
    const reason = 'Could enter as a system_admin before an upgrade'
    let count = 0
    for (const app of (await listKeptAdminApps(deps)).filter(({ built_in }) => !built_in)) {
      const held = new Set(grants.filter(({ app_id }) => app_id === app.id).map(({ user_id }) => user_id))
      const users = admins.filter((admin) => isInPools(admin, poolSet(app)) && !held.has(admin.id))
      if (users.length > 0) count += (await giveGrants(deps, { users, app, reason }, systemActor)).length
    }
    if (ids.length > 0 && !(await isAdministrable(deps))) await Service.setAdminGrantsDue(deps.db)
    return count
  })
}

/**
 * Gives a new system_admin the apps that AUTH_ADMIN_APP_CODES names, or gives them back. `*` names only the built-in app, which
 * needs no grant unless it was revoked. The transaction must hold the lock of the user's row.
 */
export async function giveAdminApps(deps: Deps<Tx>, userId: string, actor: Actor): Promise<void> {
  const users = (await User.listByIds(deps.db, [userId])).map(userOf)
  const grants = await UserApp.listOfUsers(deps.db, [userId])
  const isRevoked = ({ id }: NamedApp) => grants.some(({ app_id, status }) => app_id === id && status === 'revoked')
  const isNamed = !deps.config.adminAppCodes.includes('*')
  for (const app of await listKeptAdminApps(deps))
    if (app.built_in ? isRevoked(app) : isNamed) await giveGrants(deps, { users, app, expires_at: null }, actor)
}

async function listKeptAdminApps(deps: Deps<Tx>): Promise<NamedApp[]> {
  const named = await App.listNamed(deps.db, deps.config.adminAppCodes)
  const kept = await App.listKeptByRefs(deps.db, { ids: named.map(({ id }) => id), codes: [] })
  return named.filter(({ id }) => kept.some((app) => app.id === id))
}
