import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { type AccountRecord, isUnproven, isVerifiedFor } from '../../lib/account-record.ts'
import { hashOpaqueToken, newOpaqueToken, TOKEN_PREFIXES } from '../../lib/random.ts'
import type { ActionPurpose, NoticePurpose } from '../../mail/texts/mail-texts.ts'
import { App } from '../../models/app.ts'
import { MailToken, type SpendableToken } from '../../models/mail-token.ts'
import type { UnsentReason } from '../../models/outbox-message.ts'
import { type LockedUser, User } from '../../models/user.ts'
import type { PooledUser } from '../users/present.ts'
import { getUser, lockUserRow } from '../users/users.ts'

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
 * Also returns the locale of the user; or else why the user may no longer have a token.
 */
export async function issueMailToken(
  deps: Deps<Pool>,
  order: TokenOrder,
): Promise<{ token: string; locale: string | null } | { unsent: UnsentReason }> {
  const { userId, purpose, email, app, redirectUrl, accountEmail = email, change, page } = order
  const token = newOpaqueToken(TOKEN_PREFIXES.mail)
  return transaction(deps, async (deps) => {
    const user = await User.findForUpdate(deps.db, userId)
    const unsent = user ? whyNoToken(user, order) : 'no_longer_needed'
    if (!user || unsent) return { unsent: unsent ?? 'no_longer_needed' }
    // Each change of the address is undone separately: a later one must not stop the owner from undoing an earlier one. Once an
    // earlier one is undone, a mail that waited must not bring the later one back.
    const isUndo = purpose === 'undo_email_change'
    if (isUndo && change && (await hasUndone(deps, userId, change.askedAt))) return { unsent: 'no_longer_needed' }
    const now = deps.clock()
    await MailToken[isUndo ? 'insert' : 'replace'](deps.db, {
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
    return { token, locale: user.locale }
  })
}

/** Whether the user has undone a change of the address that was asked for by this time, at this time or later. */
async function hasUndone(deps: Deps, userId: string, askedAt: number): Promise<boolean> {
  const undone = MailToken.find(deps.db, { user_id: userId, purpose: 'undo_email_change' }).select('token_hash')
  return (await undone.where('created_at', '<=', askedAt).where('spent_at', '>=', askedAt)) !== undefined
}

/**
 * Why a token would be of no use: the account is not active, no longer has the address, or has verified it for the app, or
 * something has raised its token version since a change or deletion was asked for.
 */
export function whyNoToken(
  user: Omit<LockedUser, 'locale'>,
  { purpose, email, app, tokenVersion, accountEmail = email }: TokenOrder,
): UnsentReason | undefined {
  if (user.status === 'suspended') return 'account_suspended'
  const isOther = user.status !== 'active' || (accountEmail !== null && user.email !== accountEmail)
  if (isOther || (tokenVersion !== undefined && user.token_version !== tokenVersion)) return 'no_longer_needed'
  const isVerified = purpose === 'verify_email' && user.email_verified_at !== null && isVerifiedFor(app, user)
  return isVerified ? 'already_verified' : undefined
}

/**
 * Finds the token of a mail for one of the purposes and leaves it unspent. Throws `invalid_token` for every token that cannot be
 * used.
 */
export async function getMailToken<P extends TokenPurpose>(
  deps: Deps,
  token: string,
  ...purposes: P[]
): Promise<SpendableToken<P>> {
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
  const unspent = MailToken.find(deps.db, { code_key_hash: hashOpaqueToken(codeKey), spent_at: null })
  const found = await unspent.where('expires_at', '>', now).where('created_at', '>', sentAfter)
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
 * Deletes the unspent tokens that could sign somebody in or set another password: the user may be setting a new password because
 * such a link got into the wrong hands. The tokens of an unproven account stay, because the owner of the address needs one to take
 * the account over, and the stranger who registered it must not prevent that. Needs the transaction that sets the password.
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

/** What the token in a mail can be used for. */
export type TokenPurpose = ActionPurpose

/** Whether a message of the outbox asks for a mail with a token. The worker makes the token when it sends. */
export function isTokenPurpose(name: string): name is TokenPurpose {
  return name in tokenLifeMs
}

const minuteMs = 60_000

/** How long a token of each purpose lives (docs/sign-users-in/account-mail.md#tokens). */
export const tokenLifeMs: Record<TokenPurpose, number> = {
  verify_email: 24 * 60 * minuteMs,
  reset_password: 60 * minuteMs,
  magic_link: 15 * minuteMs,
  allow_email_change: 24 * 60 * minuteMs,
  change_email: 24 * 60 * minuteMs,
  undo_email_change: 72 * 60 * minuteMs,
  delete_account: 60 * minuteMs,
  new_sign_in: 72 * 60 * minuteMs,
}

/** How long the code in a mail to sign in with lives. The link beside it lives longer. */
export const signInCodeLifeMs = 10 * minuteMs

/** Where the link of each mail leads, below the origin. */
export const linkPaths = {
  verify_email: '/verify-email',
  reset_password: '/reset-password',
  magic_link: '/magic-link',
  allow_email_change: '/confirm-email',
  change_email: '/confirm-email',
  invitation: '/accept-invitation',
} as const satisfies Partial<Record<TokenPurpose | 'invitation', string>>

/** Pages of the service itself that mails link to. */
export const ownPages = {
  disown_email: '/disown-email',
  undo_email_change: '/undo-email-change',
  delete_account: '/delete-account',
  new_sign_in: '/secure-account',
  /** For a mail that was asked for on the sign-in page. */
  sign_in: '/oauth/mail',
} as const

// The payloads of mails in the outbox, by purpose, which is the name of the message. Live tokens in them are sealed.

export interface TokenMailPayload {
  redirect_url: string | null
  /** When and from where the mail was asked for. */
  asked: { at: number; ip: string | null; user_agent?: string | null; locale?: string | undefined }
  /** For a change of the address. */
  change?: {
    /** The address that the account must have; null for any. */
    account_email: string | null
    /** When the mailbox of the old address was proven. */
    mailbox_proven_at: number | null
    /** The address that the account would get, in a mail to the present one. */
    new_email?: string
    /** When the user asked for the change, if that was before this mail. */
    asked_at?: number
  }
  /** For a mail that carries a code: a `PageOfMail`, sealed for this message. */
  page_box?: string
  /** The user's token version. Whatever raises it drops the change or deletion that the user asked for. */
  token_version?: number
}

/** Who waits for a mail with a code: a browser on our own page, or a client of the API. */
export interface PageOfMail {
  /** The browser that asked on our own page, and the authorization request that it goes on with, sealed for it. */
  browserHash?: string
  requestField?: string
  /** The secret that the code in the mail is made from. */
  codeKey: string
}

export interface InvitationPayload {
  invitation_id: string
  /** The token, sealed for this message. */
  token_box: string
  /** What the one who invites reads. */
  locale?: string | undefined
}

export interface NoticePayload {
  at: number
  ip: string | null
  user_agent: string | null
  /** What the user reads, if the request tells. */
  locale?: string | undefined
  provider: string | null
}

/** For a mail to an admin about a request for access. */
export interface RequestPayload {
  request_id: string
}

/** For the mail to the user who asked for access. */
export interface DecisionPayload {
  reason: string | null
}

export type { NoticePurpose }
