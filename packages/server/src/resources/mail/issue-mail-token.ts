import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { isVerifiedFor } from '../../lib/account-record.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/opaque-token.ts'
import type { App } from '../../models/app.ts'
import { MailToken } from '../../models/mail-token.ts'
import { getUser, lockUserRow } from '../users/get-user.ts'
import type { PooledUser } from '../users/present.ts'
import { type PageOfMail, type TokenPurpose, tokenLifeMs } from './token-purpose.ts'

export interface TokenOrder {
  userId: string
  purpose: TokenPurpose
  /** Where the mail goes. */
  email: string
  app: App
  redirectUrl: string | null
  /** The address that the account must have, if it is not `email`; null for any. */
  accountEmail?: string | null
  /** The user's token version, if a later one makes the token useless. */
  tokenVersion?: number | undefined
  /** Set if the mail carries a code. */
  page?: PageOfMail | undefined
  /** The change of the address that the token is about. */
  change?: { askedAt: number; newEmail: string | null; mailboxProvenAt: number | null }
}

/**
 * Issues a token to a user, and deletes the unspent ones of the same purpose unless the token undoes a change of the address.
 * Returns undefined if the user may no longer have one.
 */
export async function issueMailToken(deps: Deps<Pool>, order: TokenOrder): Promise<string | undefined> {
  const { userId, purpose, email, app, redirectUrl, accountEmail = email, change, page } = order
  const token = newOpaqueToken(TOKEN_PREFIXES.mail)
  return transaction(deps, async (deps) => {
    await lockUserRow(deps, userId)
    if (!mayHaveToken(await getUser(deps, userId), order)) return undefined
    // Each change of the address is undone separately: a later one must not stop the owner from undoing an earlier one. Once an
    // earlier one is undone, a mail that waited must not bring the later one back.
    if (purpose !== 'undo_email_change') await MailToken.deleteUnspentOf(deps.db, userId, purpose)
    else if (change && (await MailToken.hasUndone(deps.db, userId, change.askedAt))) return undefined
    const now = deps.clock()
    await MailToken.insert(deps.db, {
      token_hash: hashOpaqueToken(token),
      user_id: userId,
      purpose,
      email,
      account_email: accountEmail,
      new_email: change?.newEmail ?? null,
      mailbox_proven_at: change?.mailboxProvenAt ?? null,
      app_id: app.id,
      redirect_url: redirectUrl,
      browser_hash: page?.browserHash ?? null,
      request_field: page?.requestField ?? null,
      code_key_hash: page ? hashOpaqueToken(page.codeKey) : null,
      created_at: change?.askedAt ?? now,
      expires_at: now + tokenLifeMs[purpose],
    })
    return token
  })
}

/**
 * Whether a token would be of any use: the account is active, has the address, and has not verified it for the app yet, and
 * nothing has raised its token version since a change or deletion was asked for.
 */
export function mayHaveToken(user: PooledUser, { purpose, email, app, tokenVersion, accountEmail = email }: TokenOrder): boolean {
  if (tokenVersion !== undefined && user.token_version !== tokenVersion) return false
  if (user.status !== 'active' || (accountEmail !== null && user.email !== accountEmail)) return false
  return purpose !== 'verify_email' || user.email_verified_at === null || !isVerifiedFor(app, user)
}
