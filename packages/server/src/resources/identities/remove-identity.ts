import { type Deps, transaction } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'

/**
 * Unlinks one of the caller's own identities; sessions go on. Not the last way in: without a password another one must be left, of a
 * provider that is enabled, however many are removed at once. Throws `not_found`, `last_login_method`.
 */
export async function removeOwnIdentity(deps: Deps, caller: UserCaller, identityId: string, actor: Actor): Promise<void> {
  await removeIdentity(deps, { userId: caller.userId, identityId }, actor, async (deps) => {
    const user = await getUser(deps, caller.userId)
    if (user.password_hash === null && !(await hasOtherIdentity(deps, caller.userId, identityId)))
      throw new ApiError('last_login_method', { detail: 'Set a password first, or link another provider' })
  })
}

/** Unlinks any identity of a user, for an admin. Throws `not_found`. */
export async function removeIdentity(
  deps: Deps,
  { userId, identityId }: { userId: string; identityId: string },
  actor: Actor,
  assertAllowed: (deps: Deps) => Promise<void> = async () => {},
): Promise<void> {
  await transaction(deps, async (deps) => {
    // Two who remove the last two at once would else each see the other.
    await lockUserRow(deps, userId)
    const found = await UserIdentity.query(deps.db).findOne({ id: identityId, user_id: userId }).withGraphFetched('provider')
    if (!found) throw new ApiError('not_found', { detail: 'The user has no such identity' })
    await assertAllowed(deps)
    await UserIdentity.query(deps.db).deleteById(identityId)
    const details = { id: identityId, provider: found.provider!.code }
    await recordEvent(deps, { event: 'identity.unlinked', actor, userId, details })
  })
}

/** Unlinks a user from all providers, for whoever took the account over; says how many there were. */
export async function removeIdentities(deps: Deps, userId: string): Promise<number> {
  return deps.db('user_identities').where({ user_id: userId }).delete()
}

async function hasOtherIdentity(deps: Deps, userId: string, identityId: string): Promise<boolean> {
  const other = await deps
    .db('user_identities as i')
    .join('sso_providers as p', 'p.id', 'i.provider_id')
    .where({ 'i.user_id': userId, 'p.enabled': 1 })
    .whereNot({ 'i.id': identityId })
    .first('i.id')
  return other !== undefined
}
