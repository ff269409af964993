import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { MailToken } from '../../models/mail-token.ts'

/**
 * A new password is the answer to a link that got into the wrong hands, too: those that could log in or set another one are dead.
 * Needs the transaction that sets it.
 */
export async function dropLoginTokens(deps: Deps<Tx>, userId: string): Promise<void> {
  await MailToken.deleteUnspent(deps.db, userId, ['reset_password', 'magic_link'])
}

/** For an address that an account has no more. What takes a change back stays. Needs the transaction that changes it. */
export async function dropAddressTokens(deps: Deps<Tx>, userId: string): Promise<void> {
  await MailToken.deleteUnspent(deps.db, userId, ['verify_email', 'reset_password', 'magic_link', 'change_email'])
}

/** For an account that is claimed: no link works any more that was mailed before. Needs the transaction that claims it. */
export async function dropMailTokens(deps: Deps<Tx>, userId: string): Promise<void> {
  await MailToken.deleteUnspent(deps.db, userId)
}
