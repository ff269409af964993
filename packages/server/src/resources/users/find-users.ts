import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { isUnproven, verifiedByLink, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import type { Membership } from '../../lib/records.ts'
import { parseUserRef, type UserRef } from '../../lib/user-ref.ts'
import { relyingPartyOf } from '../../lib/web-authn.ts'
import { Passkey } from '../../models/passkey.ts'
import type { FactorRow } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import { type PooledUser, userOf } from './present.ts'

/** A user with the active second factor, which every way to sign in asks for. */
export interface FoundUser extends PooledUser {
  factor: FactorRow | null
}

/**
 * The user of this e-mail whose home pool or pool tags intersect the pools, the first by precedence
 * (docs/administer/users.md#pools). Few users share an address, so all of them are read by the one index and compared here. Deleted
 * users are not found.
 */
export async function findUserInPools(deps: Deps, email: string, pools: readonly string[]): Promise<FoundUser | undefined> {
  return firstInPools((await listUsersOfEmail(deps, email)).users, pools)
}

/** Every user of an e-mail who is not deleted, in any pool, and the generation of the catalog at that moment. */
export async function listUsersOfEmail(deps: Deps, email: string): Promise<{ users: FoundUser[]; catalogGeneration: string }> {
  const { users, catalogGeneration } = await User.listByEmail(deps.db, email)
  return { users: users.map((row) => ({ ...userOf(row), factor: row.factor })), catalogGeneration }
}

/** The users of these ids who are not deleted. */
export async function listUsersByIds(deps: Deps, ids: readonly string[]): Promise<PooledUser[]> {
  return (await User.listByIds(deps.db, ids)).map(userOf)
}

/** Why a name matches nobody. */
interface Nobody {
  code: 'invalid_user' | 'user_not_found'
  message: string
}

/** Why a name matches no user, or more than one. */
export interface UnknownUser {
  code: Nobody['code'] | 'ambiguous_user'
  message: string
}

type Accounts = readonly [PooledUser, ...PooledUser[]]

/** Looks up users by id, e-mail or `email@@pool`, all at once. The keys are the names as typed. Deleted users are not found. */
export async function findUsersByRef(deps: Deps, typed: readonly string[]): Promise<Map<string, PooledUser | UnknownUser>> {
  const found = await findAccountsByRef(deps, typed)
  return new Map([...found].map(([name, users]) => [name, 'code' in users ? users : onlyOne(name, users)]))
}

/** Like `findUsersByRef`, but an e-mail means the accounts that have it, in all pools: at least one. */
export async function findAccountsByRef(deps: Deps, typed: readonly string[]): Promise<Map<string, Accounts | Nobody>> {
  const refs = new Map(typed.map((each) => [each, parseUserRef(each)]))
  const named = [...refs.values()].filter((ref) => ref !== undefined)
  const emails = [...new Set(named.flatMap((ref) => ('email' in ref ? [ref.email] : [])))]
  const ids = named.flatMap((ref) => ('id' in ref ? [ref.id] : []))
  const idsOfEmails = emails.length === 0 ? [] : await User.listIdsByEmail(deps.db, emails)
  const users = (await User.listByIds(deps.db, [...new Set([...ids, ...idsOfEmails])])).map(userOf)
  return new Map([...refs].map(([name, ref]) => [name, allNamed(name, ref, users)]))
}

function allNamed(name: string, ref: UserRef | undefined, users: readonly PooledUser[]): Accounts | Nobody {
  if (ref === undefined) return { code: 'invalid_user', message: `"${name}" does not name a user` }
  const [user, ...others] = users.filter((each) => isNamed(each, ref))
  return user ? [user, ...others] : { code: 'user_not_found', message: `no user matches ${name}` }
}

function onlyOne(name: string, [user, ...others]: Accounts): PooledUser | UnknownUser {
  if (others.length === 0) return user
  const candidates = [user, ...others].map(({ email, namespace }) => `${email}@@${namespace}`)
  return { code: 'ambiguous_user', message: `${candidates.length} users match ${name}: ${candidates.join(', ')}` }
}

function isNamed({ id, email, namespace, tags }: PooledUser, ref: UserRef): boolean {
  if ('id' in ref) return id === ref.id
  return email === ref.email && (ref.pool === undefined || [namespace, ...tags].includes(ref.pool))
}

/** The organizations of a user with the roles held in each, by slug; `organizationId` narrows to one. */
export async function listMemberships(deps: Deps, userId: string, organizationId?: string): Promise<Membership[]> {
  const rows = await User.listMemberships(deps.db, userId, organizationId)
  const memberships = new Map<string, Membership>()
  for (const { role_code, ...organization } of rows) {
    const membership = memberships.get(organization.id) ?? { ...organization, role_codes: [] }
    if (role_code !== null) membership.role_codes.push(role_code)
    memberships.set(organization.id, membership)
  }
  return [...memberships.values()]
}

/**
 * Throws `email_exists_in_pool` if one of the pools, as home or by tag, holds a user of this e-mail other than `exceptUserId`.
 * The caller must hold the lock on the e-mail, so that the result stays true until its transaction ends.
 */
export async function assertEmailFree(
  deps: Deps,
  { email, pools, exceptUserId }: { email: string; pools: readonly string[]; exceptUserId?: string },
): Promise<void> {
  for (const user of (await listUsersOfEmail(deps, email)).users) {
    if (user.id === exceptUserId) continue
    const pool = [user.namespace, ...user.tags].find((each) => pools.includes(each))
    if (pool !== undefined)
      throw new ApiError('email_exists_in_pool', { detail: `The pool ${pool} has another user with this e-mail: ${user.id}` })
  }
}

/**
 * To be called after a person has removed one of their own ways to sign in, in the same transaction, with the user's row locked:
 * then nobody removes the last one, also by removing two at once. What works nowhere does not count: a passkey of another host, an
 * identity whose provider is disabled or serves no app. Throws `last_sign_in_method`.
 */
export async function assertCanStillSignIn(deps: Deps<Tx>, { id, password_hash }: PooledUser): Promise<void> {
  if (password_hash !== null) return
  const usable = UserIdentity.query(deps.db).joinRelated('provider').where({ user_id: id, 'provider.enabled': 1 })
  if ((await usable.whereNot({ 'provider.app_codes': '[]' }).resultSize()) > 0) return
  const party = relyingPartyOf(deps.config.publicUrl)
  if (party && (await Passkey.isOwned(deps.db, { user_id: id, rp_id: party.id }))) return
  throw new ApiError('last_sign_in_method', { detail: 'Set a password first, link a provider, or add a passkey' })
}

/** Throws `account_unverified` for an unproven account. The result is reliable only under the lock of the user's row. */
export function assertProven(user: PooledUser): void {
  if (!isUnproven(user)) return
  throw new ApiError('account_unverified', {
    detail: `Nobody has proven yet that the account ${user.email} and the mailbox are theirs, so someone else may have registered it`,
  })
}

/**
 * Records that a user has the mailbox of the address, and audits it if `about` is given. `byLinkAlone` means that a mail link is
 * the only proof, which does not show whose the account is. Returns the changed user. What was verified before stays as it is.
 * Needs the lock on the user's row.
 */
export async function verifyAddress(
  deps: Deps<Tx>,
  user: PooledUser,
  about?: { actor: Actor; appId: string },
  { byLinkAlone }: { byLinkAlone: boolean } = { byLinkAlone: false },
): Promise<PooledUser> {
  if (user.mailbox_proven_at !== null || (byLinkAlone && user.email_verified_at !== null)) return user
  const columns = byLinkAlone ? verifiedByLink(deps.clock(), user) : verifiedNow(deps.clock(), user)
  await User.change(deps.db, user.id, columns)
  if (about) await recordEvent(deps, { event: 'email.verified', userId: user.id, ...about })
  return { ...user, ...columns }
}
