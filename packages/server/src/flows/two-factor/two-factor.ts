import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { accountPath } from '../../lib/account-sections.ts'
import type { Actor, OwnCaller, PersonCaller } from '../../lib/caller.ts'
import { proofFields, text } from '../../lib/fields.ts'
import { newRecoveryCodes, recoveryCodeDigest } from '../../lib/recovery-code.ts'
import { findTotpStep, newTotpSecret, totpCodeIn, totpUrl } from '../../lib/totp.ts'
import { relyingPartyOf } from '../../lib/web-authn.ts'
import { App } from '../../models/app.ts'
import { BrowserSession } from '../../models/browser-session.ts'
import { Passkey } from '../../models/passkey.ts'
import { type FactorRow, RecoveryCode, SecondFactor } from '../../models/second-factor.ts'
import { Session } from '../../models/session.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import { giveBackAttempt, takeAttempt } from '../../resources/rate-limits/rate-limits.ts'
import { deleteSecondFactor } from '../../resources/second-factors/second-factors.ts'
import { lockOwner } from '../../resources/sessions/user-sessions.ts'
import { getUser } from '../../resources/users/users.ts'
import { seedContext } from '../sign-in/prove.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'

const code = text.trim().min(1).meta({ description: '6 digits from the authenticator app' })

export const setUpBody = z.strictObject(proofFields).meta({ id: 'SetUpTwoFactor' })
type SetUpInput = z.output<typeof setUpBody>

export const activateBody = z.object({ ...proofFields, code }).meta({ id: 'ActivateTwoFactor' })
type ActivateInput = z.output<typeof activateBody>

const disablingCode = code.optional().meta({ description: 'The same as `two_factor_code`' })
export const disableBody = z.strictObject({ ...proofFields, code: disablingCode }).meta({ id: 'DisableTwoFactor' })
type DisableInput = z.output<typeof disableBody>

export const setUpAnswer = z
  .object({
    secret: z.string().meta({ description: 'The seed in base32, for typing it in' }),
    otpauth_url: z.string().meta({ description: 'The seed as a URL, for a QR code' }),
  })
  .meta({ id: 'TwoFactorSetUp' })
type SetUpAnswer = z.output<typeof setUpAnswer>

export const recoveryCodesAnswer = z
  .object({ recovery_codes: z.array(z.string()).meta({ description: 'Ten single-use codes. Shown only once' }) })
  .meta({ id: 'RecoveryCodes' })
type RecoveryCodesAnswer = z.output<typeof recoveryCodesAnswer>

/**
 * Gives the caller a seed for an authenticator app. Logins do not ask for a code until it is activated. Until then, another
 * set-up replaces it. Throws `two_factor_active`, `token_revoked` if the session ended in the
 * meantime, and what `requireFreshProof` throws.
 */
export async function setUpTwoFactor(deps: Deps<Pool>, input: SetUpInput, caller: OwnCaller, actor: Actor): Promise<SetUpAnswer> {
  if (await SecondFactor.findActive(deps.db, caller.userId)) throw new ApiError('two_factor_active')
  await requireFreshProof(deps, { caller, factor: undefined, password: input.password }, actor)
  await assertPasskeyShown(deps, caller)
  const secret = newTotpSecret()
  const user = await getUser(deps, caller.userId)
  await transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    const totpBox = deps.secretBox.seal(secret, seedContext(user.id))
    const isStored = await SecondFactor.setUp(deps.db, { user_id: user.id, totp_box: totpBox, created_at: deps.clock() })
    if (!isStored) throw new ApiError('two_factor_active')
    await recordEvent(deps, { event: 'two_factor.set_up', actor, userId: user.id })
  })
  return { secret, otpauth_url: totpUrl({ secret, issuer: deps.config.issuer, account: user.email }) }
}

/**
 * Somebody who owns a passkey shows it before they set up another factor, where an app of theirs requires a second factor, unless
 * it is newer than the proof of their session. Else a thief of the password would set one up, and enter with it. Only our own pages
 * ask for a passkey, and they have. Throws `fresh_login_required`.
 */
async function assertPasskeyShown({ db, config }: Deps, caller: OwnCaller): Promise<void> {
  const party = relyingPartyOf(config.publicUrl)
  if (caller.sessionId === null || !party) return
  const session = await Session.findLive(db, caller.sessionId)
  const before = session?.proven_at ?? 0
  if (!(await Passkey.isOwned(db, { user_id: caller.userId, rp_id: party.id, before }))) return
  if (!(await App.demandsSecond(db, caller.userId))) return
  const page = config.publicUrl + accountPath('two-factor', { app: caller.appCode ?? '', returnTo: '' })
  throw new ApiError('fresh_login_required', { detail: `Only the account page can ask for the passkey of the user: ${page}` })
}

/** Wrong codes per user. The codes of the previous and the next step are valid too, so a guesser has one chance in 33,000. */
const wrongCodesLimit = { count: 10, seconds: 300 }

/**
 * Turns the second factor on, once a code shows that the authenticator app has the seed. The code is spent. Of several concurrent
 * calls, only one gets the recovery codes. `demandedBy` is the app whose sign-in waits for it. Throws `two_factor_not_set_up`,
 * `two_factor_active`, `invalid_two_factor_code`, `rate_limited`, `token_revoked` if the session ended in the meantime, and what
 * `requireFreshProof` throws.
 */
export async function activateTwoFactor(
  deps: Deps<Pool>,
  input: ActivateInput & { demandedBy?: string },
  caller: OwnCaller,
  actor: Actor,
): Promise<RecoveryCodesAnswer> {
  await getPendingFactor(deps, caller.userId)
  await requireFreshProof(deps, { caller, factor: undefined, password: input.password }, actor)
  await assertPasskeyShown(deps, caller)
  const attempt = await takeAttempt(deps, `two-factor:${caller.userId}`, wrongCodesLimit)
  try {
    const factor = await getPendingFactor(deps, caller.userId)
    const secret = deps.secretBox.open(factor.totp_box, seedContext(factor.user_id))
    const code = totpCodeIn(input.code)
    const step = code && findTotpStep(secret, code, deps.clock())
    if (!step) throw new ApiError('invalid_two_factor_code')
    const recoveryCodes = await transaction(deps, (deps) =>
      activate(deps, { factor, step, caller, demandedBy: input.demandedBy }, actor),
    )
    await giveBackAttempt(deps, attempt)
    return { recovery_codes: recoveryCodes }
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_two_factor_code') await giveBackAttempt(deps, attempt)
    else await recordEvent(deps, { event: 'two_factor.failed', actor, userId: caller.userId, reason: error.code })
    throw error
  }
}

/**
 * The seed that waits for its first code, for a page to show, if its digest is the one that this browser was given when it asked
 * for a seed. Somebody who knows the password can have set up another one through the API, and would share the second factor of a
 * person who scans it.
 */
export async function findPendingSeed(deps: Deps, { id, email }: { id: string; email: string }, digest: string | undefined) {
  const factor = digest === undefined ? undefined : await SecondFactor.query(deps.db).findById(id)
  if (!factor || factor.activated_at !== null) return undefined
  const secret = deps.secretBox.open(factor.totp_box, seedContext(id))
  if (digestOfSeed(secret) !== digest) return undefined
  return { secret, url: totpUrl({ secret, issuer: deps.config.issuer, account: email }) }
}

export function digestOfSeed(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

async function getPendingFactor(deps: Deps, userId: string): Promise<FactorRow> {
  const factor = await SecondFactor.query(deps.db).findById(userId)
  if (!factor) throw new ApiError('two_factor_not_set_up')
  if (factor.activated_at !== null) throw new ApiError('two_factor_active')
  return factor
}

async function activate(
  deps: Deps<Tx>,
  { factor, step, caller, demandedBy }: { factor: FactorRow; step: number; caller: OwnCaller; demandedBy: string | undefined },
  actor: Actor,
): Promise<string[]> {
  await lockOwner(deps, caller)
  const userId = factor.user_id
  const now = deps.clock()
  if (!(await SecondFactor.activate(deps.db, factor, { now, step }))) {
    // A concurrent call used the code, or a new set-up replaced the seed.
    await getPendingFactor(deps, userId)
    throw new ApiError('invalid_two_factor_code')
  }
  const codes = await replaceRecoveryCodes(deps, userId)
  if (caller.sessionId === null) {
    // It was shown in this browser, at that very moment.
    const shown = { second_factor: 'otp', second_proven_at: now, second_activated_at: now }
    await BrowserSession.update(deps.db, { id: caller.browserSessionId }, shown)
  }
  await addNotice(deps, 'two_factor_activated', { user: await getUser(deps, userId) }, actor)
  await recordEvent(deps, { event: 'two_factor.activated', actor, userId })
  if (demandedBy !== undefined) await recordEvent(deps, { event: 'two_factor.enrolled', actor, userId, appId: demandedBy })
  return codes
}

async function replaceRecoveryCodes(deps: Deps<Tx>, userId: string): Promise<string[]> {
  const codes = newRecoveryCodes()
  const [key] = deps.config.encryptionKeys
  const digests = codes.map((code) => recoveryCodeDigest(key, userId, code)).filter((digest) => digest !== undefined)
  await RecoveryCode.remove(deps.db, { user_id: userId })
  const rows = digests.map((code_hash) => ({ user_id: userId, code_hash }))
  await RecoveryCode.insertNew(deps.db, rows)
  return codes
}

/**
 * Gives somebody on the account page, who has just shown the second factor, new recovery codes in place of all that they have.
 * Browsers are trusted no more: somebody who found an old code may have had one trusted with it. Throws `two_factor_not_set_up` if
 * none is active, `token_revoked` if the session ended in the meantime, and what `requireFreshProof` throws.
 */
export async function renewRecoveryCodes(
  deps: Deps<Pool>,
  actor: Actor & { caller: PersonCaller },
): Promise<RecoveryCodesAnswer> {
  const { caller } = actor
  const factor = await SecondFactor.findActive(deps.db, caller.userId)
  if (!factor) throw new ApiError('two_factor_not_set_up')
  await requireFreshProof(deps, { caller, factor }, actor)
  return transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    // It may have been turned off since, or replaced by one that was not shown.
    const current = await SecondFactor.findActive(deps.db, caller.userId)
    if (current?.activated_at !== factor.activated_at) throw new ApiError('two_factor_not_set_up')
    const codes = await replaceRecoveryCodes(deps, caller.userId)
    await TrustedBrowser.remove(deps.db, { user_id: caller.userId })
    await addNotice(deps, 'recovery_codes_renewed', { user: await getUser(deps, caller.userId) }, actor)
    await recordEvent(deps, { event: 'two_factor.recovery_codes_renewed', actor, userId: caller.userId })
    return { recovery_codes: codes }
  })
}

/**
 * Turns the second factor off for a caller who has proven it, and deletes the recovery codes. Throws `two_factor_not_set_up` if
 * none is active, `token_revoked` if the session ended in the meantime, and what `requireFreshProof` throws.
 */
export async function disableTwoFactor(deps: Deps<Pool>, input: DisableInput, caller: OwnCaller, actor: Actor): Promise<void> {
  const factor = await SecondFactor.findActive(deps.db, caller.userId)
  if (!factor) throw new ApiError('two_factor_not_set_up')
  await requireFreshProof(deps, { caller, factor, password: input.password, code: input.code ?? input.two_factor_code }, actor)
  await transaction(deps, async (deps) => {
    await lockOwner(deps, caller)
    if (!(await deleteSecondFactor(deps, caller.userId))) throw new ApiError('two_factor_not_set_up')
    await addNotice(deps, 'two_factor_disabled', { user: await getUser(deps, caller.userId), appId: caller.appId }, actor)
    await recordEvent(deps, { event: 'two_factor.disabled', actor, userId: caller.userId })
  })
}
