import type { Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, type FieldError, validationFailed } from '../../errors.ts'
import { isVerifiedFor } from '../../lib/account-record.ts'
import { adminRoles, entersWithoutGrant, SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { isInPools, poolSet } from '../../lib/pool-set.ts'
import { App } from '../../models/app.ts'
import { Role } from '../../models/role.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserRole } from '../../models/user-role.ts'
import type { NewAuditEvent } from '../audit/record-event.ts'
import { raiseAccessFloor } from '../revocations/end-tokens.ts'
import { userOf } from './present.ts'

/** The role that every user holds. */
export const BASE_ROLE = 'base_user'

/**
 * The global roles of a new user, each once: `base_user` and those named. They cannot be deleted until the transaction ends.
 * Throws `validation_failed` naming each code without a global role.
 */
export async function resolveGlobalRoles(deps: Deps<Tx>, codes: readonly string[]): Promise<string[]> {
  const roles = await Role.listKept(deps.db, codes)
  const scopes = new Map(roles.map(({ code, scope }) => [code, scope]))
  const errors = codes.flatMap((code, index): FieldError[] => {
    const scope = scopes.get(code)
    if (scope === 'global') return []
    return [{ path: `roles.${index}`, code: 'invalid_value', message: scope ? 'must be a global role' : 'unknown role' }]
  })
  if (errors.length > 0) throw validationFailed(errors)
  return [...new Set([BASE_ROLE, ...codes])]
}

/** The codes of a user's global roles, by name. */
export async function listGlobalRoles(deps: Deps, userId: string): Promise<string[]> {
  const roles = await UserRole.list(deps.db, { user_id: userId }).orderBy('role_code').select('role_code')
  return roles.map(({ role_code }) => role_code)
}

/** The audit events of the roles that a user is made with or gains. `base_user` has no event, because every user holds it. */
export function assignedRoles(userId: string, roles: Iterable<string>, actor: Actor): NewAuditEvent[] {
  return [...roles]
    .filter((role) => role !== BASE_ROLE)
    .map((role_code) => ({ event: 'role.assigned', actor, userId, details: { role_code } }))
}

/**
 * Throws `last_system_admin` unless an active system_admin can enter an active app of AUTH_ADMIN_APP_CODES, now and for as long as
 * nothing changes: a grant that expires does not count. Call it right after the change (a role, a state, an address, a grant, a
 * pool, an app), in its transaction. If admins remove one another concurrently, on any number of servers, one stays.
 */
export async function assertAdministrable(deps: Deps<Tx>): Promise<void> {
  await lockAdministration(deps)
  if (await isAdministrable(deps)) return
  throw new ApiError('last_system_admin', {
    detail:
      'First make another active user system_admin who can enter an active app of AUTH_ADMIN_APP_CODES: authctl, or an app ' +
      'for which they have a grant without expiry',
  })
}

/**
 * Takes the lock of `assertAdministrable` early. Two changes at once would deadlock if they took their locks in another order:
 * first the rows of the users, then this one, then the rows of apps and everything else.
 */
export async function lockAdministration(deps: Deps<Tx>): Promise<void> {
  await lockUntilCommit(deps.db, 'system_admins')
}

/** Like `lockAdministration`, before a change to these users. Locks only if one of them is a system_admin. */
export async function lockAdministrationOf(deps: Deps<Tx>, ...userIds: string[]): Promise<void> {
  if (await isAnyAdmin(deps, userIds)) await lockAdministration(deps)
}

async function isAnyAdmin(deps: Deps, userIds: readonly string[]): Promise<boolean> {
  const held = UserRole.query(deps.db)
    .whereIn('user_id', [...userIds])
    .where({ role_code: SYSTEM_ADMIN })
  return (await held.resultSize()) > 0
}

/** Like `assertAdministrable`, after a change to these users. Checks only if one of them is a system_admin. */
export async function assertAdministrableWithout(deps: Deps<Tx>, ...userIds: string[]): Promise<void> {
  if (await isAnyAdmin(deps, userIds)) await assertAdministrable(deps)
}

/**
 * For somebody who has just got a role and may be signed in to an app that administers. If the role administers, and admins show a
 * second factor in that app, the session may have shown none: its access tokens end, and the next refresh asks for it. Needs the
 * lock on the user's row.
 */
export async function endAccessWithoutProof(deps: Deps<Tx>, userId: string, roleCode: string): Promise<void> {
  if (!adminRoles.some((role) => role === roleCode)) return
  const apps = await App.listNamed(deps.db, deps.config.adminAppCodes)
  const strict = apps.filter(({ require_two_factor }) => require_two_factor !== 'off').map(({ id }) => id)
  const grants = await UserApp.listOfUsers(deps.db, [userId])
  const entered = grants.filter(({ app_id }) => strict.includes(app_id)).map(({ app_id }) => app_id)
  await raiseAccessFloor(deps, userId, entered)
}

export async function holdsAdminRole(deps: Deps, userId: string): Promise<boolean> {
  return (await UserRole.find(deps.db, { user_id: userId, role_code: SYSTEM_ADMIN })) !== undefined
}

/**
 * Throws `system_admin_required` if the caller is of the help desk and may not help this user. Their route asks before it reads on.
 * Who changes the account asks again with the lock on the user's row, which giving a role takes too: otherwise a call that waits
 * for that lock would help somebody who has become an admin.
 */
export async function assertMayHelp(deps: Deps, userId: string, { caller }: Pick<Actor, 'caller'>): Promise<void> {
  if (caller?.kind !== 'user' || !caller.authority.helpsWithReason) return
  const refusal = caller.authority.refuseHelp(await holdsGlobalRole(deps, userId))
  if (refusal) throw new ApiError(refusal.code, refusal)
}

/**
 * Whether the user, or another one with the same e-mail, holds a global role besides `base_user`. Wrong codes are counted by
 * address, so helping the one helps the other.
 */
async function holdsGlobalRole(deps: Deps, userId: string): Promise<boolean> {
  const user = await User.findById(deps.db, userId)
  const { users } = user?.email ? await User.listByEmail(deps.db, user.email) : { users: [] }
  const roles = await UserRole.query(deps.db).whereIn('user_id', [userId, ...users.map(({ id }) => id)])
  return roles.some(({ role_code }) => role_code !== BASE_ROLE)
}

/** Whether an active system_admin can enter an active app of AUTH_ADMIN_APP_CODES by something that does not expire. */
export async function isAdministrable(deps: Deps): Promise<boolean> {
  const admins = (await User.listActiveHolders(deps.db, SYSTEM_ADMIN)).map(userOf)
  const apps = (await App.listNamed(deps.db, deps.config.adminAppCodes)).filter(({ status }) => status === 'active')
  const grants = await UserApp.listOfUsers(
    deps.db,
    admins.map(({ id }) => id),
  )
  const grantOf = new Map(grants.map((grant) => [`${grant.user_id} ${grant.app_id}`, grant]))
  return admins.some((admin) =>
    apps.some((app) => {
      if (!isInPools(admin, poolSet(app)) || !isVerifiedFor(app, admin)) return false
      const grant = grantOf.get(`${admin.id} ${app.id}`)
      if (entersWithoutGrant([SYSTEM_ADMIN], app)) return grant?.status !== 'revoked'
      return grant?.status === 'active' && grant.expires_at === null
    }),
  )
}
