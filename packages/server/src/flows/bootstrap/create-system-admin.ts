import type { Pool, Tx } from '../../db/handle.ts'
import { lockUntilCommit } from '../../db/locks.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { asClaimable, verifiedNow } from '../../lib/account-record.ts'
import { SYSTEM_ADMIN } from '../../lib/authority.ts'
import type { Actor } from '../../lib/caller.ts'
import { normalizeEmail } from '../../lib/email.ts'
import { DEFAULT_POOL } from '../../lib/pool-set.ts'
import { UserRole } from '../../models/user-role.ts'
import { claimAccounts } from '../../resources/account-claims/claim-accounts.ts'
import { recordEvent, recordEvents } from '../../resources/audit/record-event.ts'
import { hashNewPassword } from '../../resources/users/create-user.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { getUser, lockUserRow } from '../../resources/users/get-user.ts'
import { assignedRoles } from '../../resources/users/global-roles.ts'
import { insertUser } from '../../resources/users/insert-user.ts'
import { giveAdminApps } from './grant-admin-apps.ts'

/** Whether there is an active system_admin. */
export async function hasSystemAdmin(deps: Deps): Promise<boolean> {
  return UserRole.isHeldByActive(deps.db, SYSTEM_ADMIN)
}

export interface NewSystemAdmin {
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
          detail: `Nobody has proven that the account ${email} is theirs; claim it with --claim-unverified`,
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
  const isNew = await UserRole.insert(deps.db, row)
  if (isNew) await recordEvent(deps, { event: 'role.assigned', actor, userId, details: { role_code: SYSTEM_ADMIN } })
  await giveAdminApps(deps, userId, actor)
  return isNew ? 'promoted' : 'unchanged'
}
