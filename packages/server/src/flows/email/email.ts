import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { hasProvenAddress, isUnproven, verifiedByLink } from '../../lib/account-record.ts'
import type { Actor, OwnCaller } from '../../lib/caller.ts'
import { email, optionalTwoFactorCode, password, passwordProofFields } from '../../lib/fields.ts'
import { userRecord } from '../../lib/records.ts'
import { mailToken } from '../../mail/fields.ts'
import { MailToken, type SpendableToken } from '../../models/mail-token.ts'
import { Passkey } from '../../models/passkey.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { removeIdentities } from '../../resources/identities/identities.ts'
import { addTokenMail } from '../../resources/mail/compose-mail.ts'
import { dropAddressTokens, getMailToken, invalidToken, spendMailToken } from '../../resources/mail/mail-tokens.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import { endAllTokens, raiseAccessFloor } from '../../resources/revocations/end-tokens.ts'
import { clearSecondFactorSince } from '../../resources/second-factors/second-factors.ts'
import { lockOwner } from '../../resources/sessions/user-sessions.ts'
import { closeAccount } from '../../resources/user-deletions/user-deletions.ts'
import { listUsersOfEmail, verifyAddress } from '../../resources/users/find-users.ts'
import { type PooledUser, presentUser } from '../../resources/users/present.ts'
import { applyChanges, changeAccount, getUser, lockUserRow } from '../../resources/users/users.ts'
import { type AccountEvidence, holdsAccount, requireFreshProof } from '../sign-in/prove-again.ts'

export const verifyEmailBody = z
  .object({
    token: mailToken,
    password: password.optional().meta({
      description:
        'Password of the account. Apps that require a verified address only open with this, or with a bearer of the account',
    }),
    two_factor_code: optionalTwoFactorCode.meta({
      description: 'A two-factor code. Required with the password if the account is unproven and a second factor is active',
    }),
  })
  .meta({ id: 'VerifyEmail' })
export const disownEmailBody = z.object({ token: mailToken }).meta({ id: 'DisownEmail' })
export const verifiedUser = z.object({ user: userRecord })

export const changeEmailBody = z.strictObject({ email, ...passwordProofFields }).meta({ id: 'ChangeEmail' })
export type ChangeEmailInput = z.output<typeof changeEmailBody>
export const confirmChangeBody = z
  .object({
    token: mailToken,
    password: password
      .optional()
      .meta({ description: 'Password of the account. Required unless a bearer of the account is sent' }),
  })
  .meta({ id: 'ConfirmEmailChange' })
export const undoChangeBody = z.object({ token: mailToken }).meta({ id: 'UndoEmailChange' })
export const changeRequested = z.object({})

/**
 * Mails a link to the new address of an account, and tells the present one if it is proven. An account without a password must
 * first allow the change by a link to the present address. Nothing changes until the new address is confirmed, and the answer
 * never reveals whether another user has it. `appId` is the app that the mails name. Throws `app_code_required` for a session
 * without an app, `validation_failed`, `token_revoked` if the session ended in the meantime, and what `requireFreshProof` throws.
 */
export async function requestEmailChange(
  deps: Deps<Pool>,
  { email, password, two_factor_code: code }: ChangeEmailInput,
  caller: OwnCaller,
  actor: Actor,
  appId: string | null = caller.appId,
): Promise<void> {
  const { userId } = caller
  if (appId === null)
    throw new ApiError('app_code_required', { detail: 'Sign in through an app: the link in the mail leads to its frontend' })
  const user = await getUser(deps, userId)
  const hasPassword = user.password_hash !== null
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller, factor, password, code, asksPassword: hasPassword }, actor)
  if (user.email === email) throw fieldError('email', 'invalid_value', 'is already the address of the account')
  const change = { account_email: user.email, mailbox_proven_at: null }
  const about = { appId, userId, tokenVersion: user.token_version }
  await transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    if (hasPassword) {
      await addTokenMail(deps, { purpose: 'change_email', email, change, ...about }, actor.origin)
      if (hasProvenAddress(user)) await addNotice(deps, 'email_change_requested', { user, appId }, actor)
    } else {
      const allowing = { ...change, new_email: email }
      await addTokenMail(deps, { purpose: 'allow_email_change', email: user.email, change: allowing, ...about }, actor.origin)
    }
    await recordEvent(deps, { event: 'email.change_requested', actor, userId, appId })
  })
}

/**
 * Changes an account's address to the one that the token was mailed to, and verifies it. The caller must also hold the account:
 * otherwise the owner of the new address could be made to put it on a stranger's account by a click. A mail to the old address, if
 * it is proven, has a link to undo the change. Sessions continue. A token that was mailed to the present address of an account
 * without a password only allows the change: then the mail to the new address is sent. Throws `invalid_token`,
 * `validation_failed` without a password and a bearer, `email_exists_in_pool`, and what `holdsAccount` throws; none of these
 * spends the token.
 */
export async function confirmEmailChange(
  deps: Deps<Pool>,
  { token, ...holding }: { token: string } & AccountEvidence,
  actor: Actor,
): Promise<Verified> {
  const found = await getMailToken(deps, token, 'change_email', 'allow_email_change')
  if (found.new_email !== null) return allowChange(deps, found, found.new_email, actor)
  const { user_id: userId, app_id: appId, email } = found
  if (!(await holdsAccount(deps, { userId, appId }, holding, actor)))
    throw fieldError('password', 'required', 'is required, unless the request has a bearer of the account')
  return changeAccount(deps, userId, email, async (deps, before) => {
    await spendMailToken(deps, found)
    if (before.status !== 'active') throw invalidToken()
    const changed = await replaceEmail(deps, before, email, actor)
    const verified = await verifyAddress(deps, changed, { actor, appId })
    await dropAddressTokens(deps, userId)
    if (hasProvenAddress(before)) {
      const change = { account_email: null, mailbox_proven_at: before.mailbox_proven_at, asked_at: found.created_at }
      await addTokenMail(deps, { purpose: 'undo_email_change', email: before.email, appId, userId, change }, actor.origin)
    }
    // Access tokens still contain the old address.
    await raiseAccessFloor(deps, userId)
    return { user: presentUser(verified), redirectUrl: null }
  })
}

/** The holder of the present mailbox allows the change. The address stays until the new one is confirmed. */
async function allowChange(deps: Deps<Pool>, found: SpendableToken, newEmail: string, actor: Actor): Promise<Verified> {
  const { user_id: userId, app_id: appId } = found
  return transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const change = { account_email: user.email, mailbox_proven_at: null, asked_at: found.created_at }
    const about = { appId, userId, tokenVersion: user.token_version }
    await addTokenMail(deps, { purpose: 'change_email', email: newEmail, change, ...about }, actor.origin)
    await recordEvent(deps, { event: 'email.change_allowed', actor, userId, appId })
    return { user: presentUser(user), redirectUrl: null }
  })
}

/**
 * Undoes a change of the address for a user who can read mail to the old one, and ends every session. It overrides all later
 * changes: a thief cannot keep the account by changing the address twice, or by registering the old one. The password is removed,
 * and so are ways to sign in that came since the change was asked for. A mail asks for a new password. Links mailed since then are
 * dead; links that undo an earlier change still work. Throws `invalid_token`, `email_exists_in_pool`.
 */
export async function undoEmailChange(deps: Deps<Pool>, token: string, actor: Actor): Promise<Verified> {
  const found = await getMailToken(deps, token, 'undo_email_change')
  const { user_id: userId, app_id: appId, email } = found
  return changeAccount(deps, userId, email, async (deps, before) => {
    await spendMailToken(deps, found)
    if (before.status !== 'active') throw invalidToken()
    await removeSquatters(deps, before, email, actor)
    const changed = await replaceEmail(deps, before, email, actor)
    // The user has just read mail to the old address. Whether its mailbox was proven is restored from before the change.
    const verification = { ...verifiedByLink(deps.clock(), changed), mailbox_proven_at: found.mailbox_proven_at }
    await User.change(deps.db, userId, verification)
    await MailToken.list(deps.db, { user_id: userId, spent_at: null }).where('created_at', '>=', found.created_at).delete()
    await recordEvent(deps, { event: 'email.change_undone', actor, userId, appId })
    await removeNewCredentials(deps, before, found, actor)
    // The thief knew the password, or the account had none.
    await addTokenMail(deps, { purpose: 'reset_password', email, appId, userId }, actor.origin)
    const user = presentUser(await getUser(deps, userId))
    await endAllTokens(deps, { userId, reason: 'email.change_undone' })
    return { user, redirectUrl: null }
  })
}

/** Deletes unproven accounts that have the address and share a pool with the user. */
async function removeSquatters(deps: Deps<Tx>, { id, namespace, tags }: PooledUser, email: string, actor: Actor): Promise<void> {
  const pools = [namespace, ...tags]
  for (const other of (await listUsersOfEmail(deps, email)).users) {
    const meets = [other.namespace, ...other.tags].some((pool) => pools.includes(pool))
    if (other.id === id || !meets) continue
    // It may have been proven or closed since it was read.
    await lockUserRow(deps, other.id)
    const account = await getUser(deps, other.id)
    if (account.status !== 'deleted' && isUnproven(account)) await closeAccount(deps, account.id, actor, { reason: 'disowned' })
  }
}

/**
 * Removes the password, since the change needed it, and the second factor, passkeys and identities that are newer than the change.
 */
async function removeNewCredentials(
  deps: Deps<Tx>,
  { id: userId, password_hash: hash }: PooledUser,
  { created_at: since, app_id: appId }: SpendableToken,
  actor: Actor,
): Promise<void> {
  const lost = {
    password: hash !== null,
    two_factor: await clearSecondFactorSince(deps, userId, since),
    passkeys: await Passkey.list(deps.db, { user_id: userId }).where('created_at', '>=', since).delete(),
    identities: await removeIdentities(deps, userId, since),
  }
  if (lost.password) await User.change(deps.db, userId, { password_hash: null })
  if (lost.password || lost.two_factor || lost.passkeys > 0 || lost.identities > 0)
    await recordEvent(deps, { event: 'credentials.removed', actor, userId, appId, details: lost })
}

/**
 * Changes an account's address; the new one is unverified. Needs the locks of `changeUser`. Throws `email_exists_in_pool` without
 * the detail that admins get, which says whose address it is.
 */
async function replaceEmail(deps: Deps<Tx>, user: PooledUser, email: string, actor: Actor): Promise<PooledUser> {
  try {
    await applyChanges(deps, user, { email }, actor)
  } catch (error) {
    if (error instanceof ApiError && error.code === 'email_exists_in_pool') throw new ApiError('email_exists_in_pool')
    throw error
  }
  return getUser(deps, user.id)
}

export interface Verified {
  user: z.output<typeof userRecord>
  /** Where the user continues. The app allowed this URL when the mail was requested. */
  redirectUrl: string | null
}

/**
 * Verifies the address that the token was mailed to. Apps that ask for a verified address open only if the caller also holds the
 * account: a stranger may have registered the address, and its owner merely clicked the link. Throws `invalid_token`, and what
 * `holdsAccount` throws, which leaves the token unspent.
 */
export async function verifyEmail(
  deps: Deps<Pool>,
  { token, ...holding }: { token: string } & AccountEvidence,
  actor: Actor,
): Promise<Verified> {
  const found = await getMailToken(deps, token, 'verify_email')
  const { user_id: userId, app_id: appId } = found
  // A stranger may have set up the second factor, and the owner of the address the password, by a reset. Proven by the password
  // alone, the account would keep the factor, and its owner could not get in any more.
  const asksCode = isUnproven(await getUser(deps, userId))
  const isHolder = await holdsAccount(deps, { userId, appId, asksCode }, holding, actor)
  return transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const verified = await verifyAddress(deps, user, { actor, appId }, { byLinkAlone: !isHolder })
    return { user: presentUser(verified), redirectUrl: found.redirect_url }
  })
}

/**
 * Called when the owner of a mailbox says that the account with its address is not theirs. Deletes the account if it is unproven.
 * Any other account stays, but the link is spent either way. Throws `invalid_token`.
 */
export async function disownEmail(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'verify_email')
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    if (isUnproven(user)) await closeAccount(deps, user.id, actor, { reason: 'disowned' })
  })
}
