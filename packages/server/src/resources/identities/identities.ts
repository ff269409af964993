import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, OwnCaller } from '../../lib/caller.ts'
import { page } from '../../lib/fields.ts'
import type { Page, PageRequest } from '../../lib/keyset.ts'
import { firstInPools, poolsOf } from '../../lib/pool-set.ts'
import { type IdentityRecord, identityRecord } from '../../lib/records.ts'
import { iso } from '../../lib/timestamps.ts'
import { newId } from '../../lib/uuid.ts'
import { withPage } from '../../models/list-query.ts'
import { SsoLogin } from '../../models/sso-login.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { NoticePurpose } from '../mail/mail-tokens.ts'
import { addNotice } from '../mail/request-mail.ts'
import { lockOwner } from '../sessions/user-sessions.ts'
import { assertCanStillSignIn, listUsersByIds } from '../users/find-users.ts'
import type { PooledUser, ShownUser } from '../users/present.ts'
import { getUser, lockUserRow } from '../users/users.ts'

export const identityPage = page(identityRecord)

/** The identities that a user can sign in with, newest first, each with its provider. Throws `not_found`. */
export async function listIdentities(deps: Deps, userId: string, request: PageRequest): Promise<Page<UserIdentity>> {
  const { id } = await getUser(deps, userId)
  return withPage(UserIdentity.full(deps.db).where({ user_id: id }), request, 'user_identities.id')
}

/** The provider's id, and the subject that names the user at the provider. */
export interface Subject {
  providerId: string
  subject: string
}

/**
 * Finds the user of the pools who is linked with this subject. Several users may share a subject, as they may share an e-mail;
 * the precedence of e-mails picks the first. Deleted users are not found.
 */
export async function findLinkedUser(
  deps: Deps,
  { providerId, subject }: Subject,
  pools: readonly string[],
): Promise<PooledUser | undefined> {
  const linked = await UserIdentity.list(deps.db, { provider_id: providerId, subject }).select('user_id')
  if (linked.length === 0) return undefined
  const ids = linked.map(({ user_id }) => user_id)
  return firstInPools(await listUsersByIds(deps, ids), pools)
}

/**
 * Links a subject to a user who has asked for it. If the user is already linked with the subject, nothing changes. Throws
 * `identity_in_use` if another user of the same pools is linked with it, since a login with it could mean either user. Needs the
 * locks of the subject and of the user's row.
 */
export async function addIdentity(
  deps: Deps<Tx>,
  { providerId, subject }: Subject,
  { user, appId, provider }: { user: ShownUser; appId: string; provider: string },
  actor: Actor,
): Promise<UserIdentity> {
  const of = { user_id: user.id, provider_id: providerId, subject }
  const known = await UserIdentity.full(deps.db).findOne(of)
  if (known) return known
  if (await findLinkedUser(deps, { providerId, subject }, poolsOf([user]))) throw new ApiError('identity_in_use')
  await insertIdentity(deps, { providerId, subject }, { userId: user.id, appId, provider }, actor)
  await addNotice(deps, 'identity_linked', { user, appId, provider }, actor)
  return (await UserIdentity.full(deps.db).findOne(of))!
}

/**
 * Links a user with a subject. The caller must hold the lock on the subject and have checked that no user of the pools is linked
 * with it.
 */
export async function insertIdentity(
  deps: Deps<Tx>,
  { providerId, subject }: Subject,
  { userId, appId, provider }: { userId: string; appId: string; provider: string },
  actor: Actor,
): Promise<void> {
  const now = deps.clock()
  const id = newId(now)
  await UserIdentity.insert(deps.db, { id, user_id: userId, provider_id: providerId, subject, created_at: now })
  await recordEvent(deps, { event: 'identity.linked', actor, userId, appId, details: { id, provider } })
}

/**
 * Unlinks one of the caller's own identities. Sessions go on. Throws `not_found`, `token_revoked` if the session ended in the
 * meantime, and what `assertCanStillSignIn` throws.
 */
export async function removeOwnIdentity(deps: Deps<Pool>, caller: OwnCaller, identityId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    const removal = await getRemoval(deps, caller.userId, identityId)
    await remove(deps, removal, 'identity_unlinked', actor)
    await assertCanStillSignIn(deps, removal.user)
  })
}

/** Unlinks any identity of a user, for an admin. Throws `not_found`. */
export async function removeIdentity(
  deps: Deps<Pool>,
  { userId, identityId }: { userId: string; identityId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    await remove(deps, await getRemoval(deps, userId, identityId), 'identity_removed', actor)
  })
}

interface Removal {
  user: PooledUser
  identity: UserIdentity
}

async function getRemoval(deps: Deps<Tx>, userId: string, identityId: string): Promise<Removal> {
  // Otherwise, two concurrent requests that remove the last two identities would each still see the other one.
  await lockUserRow(deps, userId)
  const user = await getUser(deps, userId)
  const identity = await UserIdentity.full(deps.db).findOne({ id: identityId, user_id: userId })
  if (!identity) throw new ApiError('not_found', { detail: 'The user has no such identity' })
  return { user, identity }
}

async function remove(deps: Deps<Tx>, { user, identity }: Removal, notice: NoticePurpose, actor: Actor): Promise<void> {
  const { id, provider } = identity
  await UserIdentity.query(deps.db).deleteById(id)
  await addNotice(deps, notice, { user, provider: provider.code }, actor)
  await recordEvent(deps, { event: 'identity.unlinked', actor, userId: user.id, details: { id, provider: provider.code } })
}

/**
 * Unlinks an account from all providers, or from those that were linked since then, and ends its incomplete logins with them.
 * Returns the number of identities.
 */
export async function removeIdentities(deps: Deps<Tx>, userId: string, since = 0): Promise<number> {
  const linked = UserIdentity.list(deps.db, { user_id: userId }).where('created_at', '>=', since)
  for (const { provider_id, subject } of await linked.clone().select('provider_id', 'subject'))
    await SsoLogin.list(deps.db, { provider_id, subject }).whereNull('spent_at').delete()
  return linked.delete()
}

/** An identity with its provider, as in every answer. The subject is never shown. */
export function presentIdentity(identity: UserIdentity): IdentityRecord {
  return { id: identity.id, provider: identity.provider.code, created_at: iso(identity.created_at) }
}
