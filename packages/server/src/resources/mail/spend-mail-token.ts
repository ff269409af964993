import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type AccountRecord, isUnproven } from '../../lib/account-record.ts'
import { hashOpaqueToken } from '../../lib/opaque-token.ts'
import { App } from '../../models/app.ts'
import { MailToken, type SpendableToken } from '../../models/mail-token.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'
import type { PooledUser } from '../users/present.ts'
import { signInCodeLifeMs, type TokenPurpose } from './token-purpose.ts'

/**
 * Finds the token of a mail for one of the purposes and leaves it unspent. Throws `invalid_token` for every token that cannot be
 * used.
 */
export async function getMailToken(deps: Deps, token: string, ...purposes: TokenPurpose[]): Promise<SpendableToken> {
  const found = await MailToken.findSpendable(deps.db, hashOpaqueToken(token), purposes, deps.clock())
  if (!found) throw invalidToken()
  return found
}

/** The same, by the hash of the token. */
export async function getMailTokenByHash(deps: Deps, hash: string, purpose: TokenPurpose): Promise<SpendableToken> {
  const found = await MailToken.findSpendable(deps.db, hash, [purpose], deps.clock())
  if (!found) throw invalidToken()
  return found
}

/** The same, by the secret that the code in the mail is made from. A code to sign in with ends before the link beside it. */
export async function getMailTokenOfCode(deps: Deps, codeKey: string, purpose: TokenPurpose): Promise<SpendableToken> {
  const now = deps.clock()
  const sentAfter = purpose === 'magic_link' ? now - signInCodeLifeMs : 0
  const found = await MailToken.findByCodeKey(deps.db, hashOpaqueToken(codeKey), { now, sentAfter })
  if (found?.purpose !== purpose) throw invalidToken()
  return found
}

/**
 * Spends a token in the transaction that uses it: of concurrent uses one succeeds, and a rollback leaves the token unspent.
 * Returns the user as it is now, locked. Throws `invalid_token`, also if the user's address has changed since.
 */
export async function spendMailToken(deps: Deps<Tx>, found: SpendableToken): Promise<PooledUser> {
  // Lock the user first, in the same order as issuing a token.
  await lockUserRow(deps, found.user_id)
  const isKept = found.app_id === null || (await App.keep(deps.db, found.app_id))
  const spent = isKept && (await MailToken.spend(deps.db, found.token_hash, deps.clock()))
  const user = await getUser(deps, found.user_id)
  if (!spent || (found.account_email !== null && user.email !== found.account_email)) throw invalidToken()
  return user
}

export function invalidToken(): ApiError {
  return new ApiError('invalid_token', { detail: 'The token is unknown, expired, used, or replaced by a newer one' })
}

/**
 * Deletes the unspent tokens that could log in or set another password: the user may be setting a new password because such a
 * link got into the wrong hands. The tokens of an unproven account stay, because the owner of the address needs one to take the
 * account over, and the stranger who registered it must not prevent that. Needs the transaction that sets the password.
 */
export async function dropLoginTokens(deps: Deps<Tx>, user: AccountRecord & { id: string }): Promise<void> {
  if (!isUnproven(user)) await MailToken.deleteUnspent(deps.db, user.id, ['reset_password', 'magic_link'])
}

/**
 * Deletes the unspent tokens that were mailed to the old address of an account, except those that undo a change. Needs the
 * transaction that changes the address.
 */
export async function dropAddressTokens(deps: Deps<Tx>, userId: string): Promise<void> {
  await MailToken.deleteUnspent(deps.db, userId, ['verify_email', 'reset_password', 'magic_link'])
}

/**
 * Deletes all unspent tokens of an account that is claimed, so links that were mailed before stop working. Needs the transaction
 * that claims it.
 */
export async function dropMailTokens(deps: Deps<Tx>, userId: string): Promise<void> {
  await MailToken.deleteUnspent(deps.db, userId)
}
