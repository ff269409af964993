import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type AccountRecord, isUnproven } from '../../lib/account-record.ts'
import { MailToken } from '../../models/mail-token.ts'

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
