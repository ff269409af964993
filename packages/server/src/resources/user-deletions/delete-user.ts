import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { MailToken } from '../../models/mail-token.ts'
import { OrganizationMembership } from '../../models/organization-membership.ts'
import { Passkey } from '../../models/passkey.ts'
import { RecoveryCode } from '../../models/recovery-code.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { UserApp } from '../../models/user-app.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { UserNamespace } from '../../models/user-namespace.ts'
import { UserRole } from '../../models/user-role.ts'
import { recordEvent } from '../audit/record-event.ts'
import { denyRequestsOf } from '../grants/close-requests.ts'
import { forgetFailures } from '../lockouts/lockouts.ts'
import { lockOrganization } from '../organizations/get-organization.ts'
import { raiseTokenVersion } from '../revocations/end-tokens.ts'
import { describeUser } from '../users/describe-user.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'
import { assertAdministrable, holdsAdminRole, lockAdministration } from '../users/last-system-admin.ts'
import { eraseUser } from './erase-user.ts'

/**
 * Deletes a user: the row stays as `deleted`, the e-mail is free again, every token and session is dead. `erase` also blanks
 * everything that identifies the user, and accepts a user who is already deleted. Throws `not_found`, `last_system_admin`.
 */
export async function deleteUser(deps: Deps<Pool>, userId: string, { erase }: { erase: boolean }, actor: Actor): Promise<void> {
  const deletes = await closeUnlessDeleted(deps, userId, actor)
  if (erase) await eraseUser(deps, userId, actor)
  else if (!deletes) throw new ApiError('not_found', { detail: 'No user has this id' })
}

/** Deletes a user. Returns false if the user was already deleted. Throws `not_found`, `last_system_admin`. */
export async function closeUnlessDeleted(deps: Deps<Pool>, userId: string, actor: Actor): Promise<boolean> {
  return transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    const { status } = await getUser(deps, userId)
    if (status !== 'deleted') await closeAccount(deps, userId, actor)
    return status !== 'deleted'
  })
}

/**
 * Deletes a user in the transaction of the caller, who must hold the lock on the user's row and have checked that the user
 * exists. Throws `last_system_admin`.
 */
export async function closeAccount(
  deps: Deps<Tx>,
  userId: string,
  actor: Actor,
  { reason }: { reason?: string } = {},
): Promise<void> {
  const wasAdmin = await holdsAdminRole(deps, userId)
  if (wasAdmin) await lockAdministration(deps)
  const before = await describeUser(deps, userId)
  // Lock the organizations: a change to one of them checks whether an admin is left.
  for (const { id } of before.organizations.toSorted((a, b) => (a.id < b.id ? -1 : 1))) await lockOrganization(deps, id)
  const now = deps.clock()
  for (const model of [
    OrganizationMembership,
    UserRole,
    UserNamespace,
    MailToken,
    RecoveryCode,
    SecondFactor,
    Passkey,
    UserIdentity,
  ])
    await model.deleteOfUser(deps.db, userId)
  await UserApp.revokeAllOf(deps.db, userId, now)
  await denyRequestsOf(deps, userId, actor)
  await forgetFailures(deps, before, { codes: true })
  await User.update(deps.db, userId, { status: 'deleted', password_hash: null, deleted_at: now, updated_at: now })
  if (wasAdmin) await assertAdministrable(deps)
  await recordEvent(deps, {
    event: 'user.deleted',
    actor,
    userId,
    ...(reason === undefined ? {} : { reason }),
    details: { before, after: null },
  })
  await raiseTokenVersion(deps, { userId, appId: null, reason: 'user.deleted' })
}
