import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { asClaimable, verifiedNow } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { DEFAULT_POOL, isInPools, poolSet } from '../../lib/pool-set.ts'
import { App, type NamedApp } from '../../models/app.ts'
import { Service } from '../../models/service.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserRole } from '../../models/user-role.ts'
import { claimAccounts } from '../../resources/account-claims/claim-accounts.ts'
import { recordEvent, recordEvents, systemActor } from '../../resources/audit/record-event.ts'
import { giveGrants } from '../../resources/grants/grants.ts'
import { assignedRoles, endAccessWithoutProof, isAdministrable } from '../../resources/users/administration.ts'
import { findUserInPools } from '../../resources/users/find-users.ts'
import { userOf } from '../../resources/users/present.ts'
import { getUser, hashNewPassword, insertUser, lockUserRow } from '../../resources/users/users.ts'

/** Whether there is an active system_admin. */
export async function hasSystemAdmin(deps: Deps): Promise<boolean> {
  return UserRole.isHeld(deps.db, SYSTEM_ADMIN, ['active'])
}

interface NewSystemAdmin {
  email: string
  password: string | undefined
  promote: boolean
  claimsUnproven?: boolean
  unlessOneExists: boolean
}

/**
 * Creates a system_admin in pool `default`. With `unlessOneExists`, does nothing if there already is one, even if several servers
 * start at once. An existing user of that address is promoted only with `promote`, and keeps their password. An unproven account
 * is promoted only with `claimsUnproven`: it loses what it was registered with, and gets the password given here, or none. The
 * system_admin may then enter the apps that AUTH_ADMIN_APP_CODES names. Throws `validation_failed`, `user_exists`,
 * `account_unverified`, and `not_found` if there is no user to promote and no password.
 */
export async function createSystemAdmin(
  deps: Deps<Pool>,
  input: NewSystemAdmin,
  actor: Actor,
): Promise<'created' | 'promoted' | 'claimed' | 'unchanged'> {
  const email = normalizeEmail(input.email)
  if (email === undefined) throw fieldError('email', 'invalid_value', 'must be an e-mail address')
  if (input.unlessOneExists && (await hasSystemAdmin(deps))) return 'unchanged'
  const passwordHash = input.password === undefined ? undefined : await hashNewPassword(deps, input.password, email, actor)

  return transaction(deps, async (deps) => {
    await lockUntilCommit(deps.db, 'bootstrap')
    if (input.unlessOneExists && (await hasSystemAdmin(deps))) return 'unchanged'
    await lockUntilCommit(deps.db, 'email', email)
    const existing = await findUserInPools(deps, email, [DEFAULT_POOL])
    if (existing) {
      if (!input.promote)
        throw new ApiError('user_exists', { detail: `A user with the address ${email} exists; promote it with --promote` })
      await lockUserRow(deps, existing.id)
      const account = asClaimable(await getUser(deps, existing.id))
      if (!account) return promote(deps, existing.id, actor)
      if (!input.claimsUnproven)
        throw new ApiError('account_unverified', {
          detail: `Nobody has proven that the account ${email} is theirs; take it over with --claim-unverified`,
        })
      const made_by = 'bootstrap'
      const given = { password_hash: passwordHash ?? null, made_by, ...verifiedNow(deps.clock(), account) } as const
      await claimAccounts(deps, [{ account, given, appId: null }], actor)
      await promote(deps, account.id, actor)
      return 'claimed'
    }
    if (passwordHash === undefined) throw new ApiError('not_found', { detail: `No user has the address ${email}` })
    const user = await insertUser(deps, {
      email,
      passwordHash,
      firstName: null,
      lastName: null,
      locale: null,
      namespace: DEFAULT_POOL,
      tags: [],
      emailVerified: true,
      madeBy: 'bootstrap',
      roles: ['base_user', SYSTEM_ADMIN],
    })
    const made = { event: 'user.created', actor, userId: user.id, details: { roles: ['base_user', SYSTEM_ADMIN] } } as const
    await recordEvents(deps, [made, ...assignedRoles(user.id, [SYSTEM_ADMIN], actor)])
    await giveAdminApps(deps, user.id, actor)
    return 'created'
  })
}

async function promote(deps: Deps<Tx>, userId: string, actor: Actor): Promise<'promoted' | 'unchanged'> {
  const row = { user_id: userId, role_code: SYSTEM_ADMIN, created_at: deps.clock() }
  const isNew = (await UserRole.insertNew(deps.db, [row])) > 0
  if (isNew) {
    await recordEvent(deps, { event: 'role.assigned', actor, userId, details: { role_code: SYSTEM_ADMIN } })
    await endAccessWithoutProof(deps, userId, SYSTEM_ADMIN)
  }
  await giveAdminApps(deps, userId, actor)
  return isNew ? 'promoted' : 'unchanged'
}

/**
 * After an upgrade from a version in which a system_admin entered every app without a grant: grants each of them the apps of
 * AUTH_ADMIN_APP_CODES in whose pools they are, `*` meaning every active app. Grants that exist stay as they are. Runs once for a
 * database, however many servers start, and again at the next start if no system_admin can enter any of the apps: the setting may
 * be mistyped. Returns how many grants it gave.
 */
export async function grantAdminApps(deps: Deps<Pool>): Promise<number> {
  return transaction(deps, async (deps) => {
    if (!(await Service.takeAdminGrantsDue(deps.db))) return 0
    const holders = await UserRole.list(deps.db, { role_code: SYSTEM_ADMIN }).orderBy('user_id').select('user_id')
    const ids = holders.map(({ user_id }) => user_id)
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
    // Leaves them to the next start.
    if (ids.length > 0 && !(await isAdministrable(deps))) await Service.query(deps.db).patch({ admin_grants_due: 1 })
    return count
  })
}

/**
 * Gives a new system_admin the apps that AUTH_ADMIN_APP_CODES names, or gives them back. `*` names only the built-in app, which
 * needs no grant unless it was revoked. The transaction must hold the lock of the user's row.
 */
async function giveAdminApps(deps: Deps<Tx>, userId: string, actor: Actor): Promise<void> {
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
