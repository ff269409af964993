import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError, fieldError } from '../../errors.ts'
import { asClaimable, verifiedNow } from '../../lib/account-record.ts'
import type { Actor, PersonCaller, UserCaller } from '../../lib/caller.ts'
import { password } from '../../lib/fields.ts'
import { hashLineOf } from '../../lib/hash-line.ts'
import { passwordFault } from '../../lib/password.ts'
import { factsOf, type ShownFactors, storedShown } from '../../lib/proof.ts'
import type { TokenAnswer } from '../../lib/records.ts'
import { newRefreshToken } from '../../lib/refresh-token.ts'
import { mailToken } from '../../mail/fields.ts'
import { App } from '../../models/app.ts'
import type { LiveBrowserSession } from '../../models/browser-session.ts'
import type { SpendableToken } from '../../models/mail-token.ts'
import { RefreshToken } from '../../models/refresh-token.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { User } from '../../models/user.ts'
import { stripForReset } from '../../resources/account-claims/claim-accounts.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { forgetFailures } from '../../resources/lockouts/lockouts.ts'
import { addTokenMail } from '../../resources/mail/compose-mail.ts'
import { dropLoginTokens, getMailToken, invalidToken, spendMailToken } from '../../resources/mail/mail-tokens.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import { endAllTokens } from '../../resources/revocations/end-tokens.ts'
import { admit } from '../../resources/sessions/admit.ts'
import { type BrowserSecrets, renewSecrets } from '../../resources/sessions/browser-sessions.ts'
import { insertRefreshToken, issueTokens, newDeviceTokenOf } from '../../resources/sessions/open-session.ts'
import { endSessions, lockOwner } from '../../resources/sessions/user-sessions.ts'
import { verifyAddress } from '../../resources/users/find-users.ts'
import type { ClaimableAccount } from '../../resources/users/present.ts'
import { getUser, hashNewPassword, lockUserRow } from '../../resources/users/users.ts'
import { proveAgain, requireFreshProof } from '../sign-in/prove-again.ts'

export const changePasswordBody = z
  .strictObject({
    current_password: password,
    new_password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }),
  })
  .meta({ id: 'ChangePassword' })
type ChangePasswordInput = z.output<typeof changePasswordBody>

export const resetPasswordBody = z
  .object({ token: mailToken, password: password.meta({ description: 'At least 8 characters, at most 1,024 bytes' }) })
  .meta({ id: 'ResetPassword' })
type ResetPasswordInput = z.output<typeof resetPasswordBody>

/**
 * Sets the password of somebody on the account page, who may have had none. Every session ends but the browser session. Throws
 * `validation_failed`, what `requireFreshProof` throws, and `token_revoked` if the browser session has ended meanwhile.
 */
export async function setPassword(
  deps: Deps<Pool>,
  live: LiveBrowserSession,
  password: string,
  actor: Actor & { caller: PersonCaller },
): Promise<BrowserSecrets> {
  const { user_id: userId } = live
  const { email, password_hash: oldHash } = await getUser(deps, userId)
  const fault = passwordFault(password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('password', fault.code, fault.message)
  const factor = await SecondFactor.findActive(deps.db, userId)
  await requireFreshProof(deps, { caller: actor.caller, factor }, actor)
  const newHash = await deps.passwords.hash(password, hashLineOf(actor))
  return transaction(deps, async (deps) => {
    await lockOwner(deps, actor.caller)
    // Of two concurrent changes, one wins.
    const isChanged = await User.replaceHash(deps.db, { id: userId, password_hash: oldHash }, newHash)
    if (!isChanged) throw new ApiError('token_revoked')
    const user = await getUser(deps, userId)
    await dropLoginTokens(deps, user)
    await addNotice(deps, 'password_changed', { user }, actor)
    await recordEvent(deps, { event: 'password.changed', actor, userId })
    return renewSecrets(deps, live, await endAllTokens(deps, { userId, reason: 'password.changed' }))
  })
}

/**
 * Changes the caller's password. The session of the call continues under the new token version, with new tokens; all others end.
 * Throws `validation_failed`, what `proveAgain` and the gate throw, and `token_revoked` if the session ended in the meantime.
 */
export async function changePassword(
  deps: Deps<Pool>,
  input: ChangePasswordInput,
  caller: UserCaller,
  actor: Actor,
): Promise<TokenAnswer> {
  const { email, password_hash: oldHash } = await getUser(deps, caller.userId)
  const fault = passwordFault(input.new_password, email, deps.passwordBlocklist)
  if (fault) throw fieldError('new_password', fault.code, fault.message)
  await proveAgain(deps, { caller, password: input.current_password }, actor)
  const newHash = await deps.passwords.hash(input.new_password, hashLineOf(actor))

  return transaction(deps, async (deps) => {
    await lockUserRow(deps, caller.userId)
    if (caller.appId !== null && !(await App.keep(deps.db, caller.appId))) throw new ApiError('token_revoked')
    const session = await getLiveSession(deps, caller.sessionId)
    // Of two concurrent changes, the second proved a password that has been replaced.
    const isChanged = await User.replaceHash(deps.db, { id: caller.userId, password_hash: oldHash }, newHash)
    if (!isChanged) throw new ApiError('invalid_credentials')
    const refreshToken = newRefreshToken(deps.config.encryptionKeys, session.id)
    // The refresh token that the client holds is replaced by the one in the answer.
    await RefreshToken.query(deps.db).where({ session_id: session.id, used_at: null }).patch({ used_at: deps.clock() })
    const refreshExpiresAt = await insertRefreshToken(deps, refreshToken, session)
    await dropLoginTokens(deps, await getUser(deps, caller.userId))
    await addNotice(deps, 'password_changed', { user: { id: caller.userId, email }, appId: caller.appId }, actor)
    await recordEvent(deps, { event: 'password.changed', actor, userId: caller.userId, appId: caller.appId })
    await endAllTokens(deps, { userId: caller.userId, reason: 'password.changed', keptSessionId: session.id })

    const user = await getUser(deps, caller.userId)
    const app = caller.appId === null ? null : ((await App.find(deps.db, { id: caller.appId })) ?? null)
    // The app was switched off during the call, and its tokens with it.
    if (app?.status === 'inactive') throw new ApiError('token_revoked')
    const organizationId = session.organizationId ?? undefined
    // What the session has shown besides the password stays shown, though its tokens name only the password from now on.
    const admission = await admit(
      deps,
      { user, app, client: undefined, organizationId, overrides: {}, shown: session.shown },
      actor,
    )
    const factor = await SecondFactor.findActive(deps.db, user.id)
    const deviceToken = newDeviceTokenOf(deps, admission, factor?.activated_at ?? null)
    const facts = factsOf({ method: 'password', firstProvenAt: deps.clock(), second: null })
    await Session.query(deps.db)
      .findById(session.id)
      .patch({ first_proven_at: facts.firstProvenAt, amr: facts.amr.join(' ') })
    return issueTokens(
      deps,
      admission,
      { ...session, ...facts },
      { token: refreshToken, expiresAt: refreshExpiresAt, deviceToken },
    )
  })
}

async function getLiveSession(
  deps: Deps<Tx>,
  id: string,
): Promise<{ id: string; expiresAt: number; organizationId: string | null; shown: ShownFactors }> {
  const row = await Session.findOpenForUpdate(deps.db, id)
  if (!row) throw new ApiError('token_revoked')
  return {
    id,
    expiresAt: row.expires_at,
    organizationId: row.organization_id,
    shown: storedShown({ ...row, session_created_at: row.created_at }),
  }
}

/**
 * Sets a new password with the token of a mail. Ends every session and token of the user and clears a lockout. The second factor
 * stays on, and the user is not signed in. Returns the redirect URL if the request for the mail named one. Throws
 * `invalid_token`, and `validation_failed` for the password, which leaves the token unspent.
 */
export async function resetPassword(
  deps: Deps<Pool>,
  input: ResetPasswordInput,
  actor: Actor,
): Promise<{ redirectUrl: string | null }> {
  const found = await getMailToken(deps, input.token, 'reset_password')
  await resetWith(deps, found, input.password, actor)
  return { redirectUrl: found.redirect_url }
}

/** The same, with a token that was found. */
export async function resetWith(deps: Deps<Pool>, found: SpendableToken, password: string, actor: Actor): Promise<void> {
  const passwordHash = await hashNewPassword(deps, password, found.email, actor)
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    const account = asClaimable(user)
    if (account) await resetUnproven(deps, { account, passwordHash, appId: found.app_id }, actor)
    else {
      await verifyAddress(deps, user)
      await User.change(deps.db, user.id, { password_hash: passwordHash })
      await dropLoginTokens(deps, user)
      await endAllTokens(deps, { userId: user.id, reason: 'password.reset' })
    }
    // Wrong codes stay counted, since a mailbox is not a second factor.
    await forgetFailures(deps, user, { codes: false })
    await addNotice(deps, 'password_reset', { user, appId: found.app_id }, actor)
    await recordEvent(deps, { event: 'password.reset', actor, userId: user.id, appId: found.app_id })
  })
}

/**
 * Resets an unproven account. It loses everything that a stranger may have set up, except the second factor. If there is one, the
 * account stays unproven: the factor may be a stranger's, and only a magic link to a still unproven account removes it.
 */
async function resetUnproven(
  deps: Deps<Tx>,
  { account, passwordHash, appId }: { account: ClaimableAccount; passwordHash: string; appId: string },
  actor: Actor,
): Promise<void> {
  const hasFactor = (await SecondFactor.findActive(deps.db, account.id)) !== undefined
  const given = { password_hash: passwordHash, ...(hasFactor ? {} : verifiedNow(deps.clock(), account)) }
  await stripForReset(deps, { account, given, appId }, actor)
}

/**
 * Called when somebody says that a sign-in was not theirs. Ends every session of the account, removes the password, which the other
 * one may know, and mails a reset. Throws `invalid_token`.
 */
export async function secureAccount(deps: Deps<Pool>, token: string, actor: Actor): Promise<void> {
  const found = await getMailToken(deps, token, 'new_sign_in')
  const { user_id: userId, app_id: appId, email } = found
  await transaction(deps, async (deps) => {
    const user = await spendMailToken(deps, found)
    if (user.status !== 'active') throw invalidToken()
    await endSessions(deps, userId, actor)
    await dropLoginTokens(deps, user)
    if (user.password_hash !== null) {
      await User.change(deps.db, userId, { password_hash: null })
      await recordEvent(deps, { event: 'credentials.removed', actor, userId, appId, details: { password: true } })
    }
    await addTokenMail(deps, { purpose: 'reset_password', email, appId, userId }, actor.origin)
  })
}
