import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import type { HalfProof, Proof, ShownFactor } from '../../lib/proof.ts'
import { recoveryCodeDigest } from '../../lib/recovery-code.ts'
import { findTotpStep, totpCodeIn } from '../../lib/totp.ts'
import type { SpentCode } from '../../models/authorization-code.ts'
import type { LockRule } from '../../models/lockout.ts'
import { type FactorRow, RecoveryCode, SecondFactor } from '../../models/second-factor.ts'
import type { ClaimedAccount } from '../../resources/account-claims/claim-accounts.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { assertNotLocked, countFailure } from '../../resources/lockouts/lockouts.ts'
import { addNotice } from '../../resources/mail/request-mail.ts'
import type { NewAccount } from '../../resources/users/users.ts'

interface SecondFactorOwner {
  id: string
  email: string
  /** The active second factor. Read from the database when absent. */
  factor?: FactorRow | null
}

/**
 * Checks the second factor at every way to sign in, after the first one. An accepted code is spent at once, even if the login then
 * fails, so call this before the transaction. Of concurrent uses of a code, only one succeeds. Wrong codes are counted per user
 * across all ways to sign in, and lock the second factor at all of them. Returns null if the user has none. Throws
 * `account_locked`, `two_factor_required` without a code, `invalid_two_factor_code`.
 */
export async function checkSecondFactor(
  deps: Deps<Pool>,
  user: SecondFactorOwner,
  code: string | undefined,
  actor: Actor,
): Promise<ShownFactor | null> {
  const provenAt = deps.clock()
  const factor = user.factor === undefined ? await SecondFactor.findActive(deps.db, user.id) : user.factor
  if (!factor) return null
  await passCode(deps, user, factor, code, actor)
  return { provenAt, activatedAt: factor.activated_at ?? 0 }
}

async function passCode(
  deps: Deps<Pool>,
  user: { id: string; email: string },
  factor: FactorRow,
  code: string | undefined,
  actor: Actor,
): Promise<void> {
  const keys = [secondFactorKey(user.id)]
  await assertNotLocked(deps, keys)
  if (code === undefined) throw new ApiError('two_factor_required')
  const totpCode = totpCodeIn(code)
  const isSpent = totpCode
    ? await spendTotpStep(deps, factor, totpCode)
    : await spendRecoveryCode(deps, factor.user_id, code, actor)
  if (isSpent) return
  const { locks } = await countFailure(deps, { keys, userId: user.id }, codeRule(deps))
  if (locks !== undefined) await tellOfLock(deps, user, locks, actor)
  throw new ApiError('invalid_two_factor_code')
}

const longestLockMs = 6 * 60 * 60 * 1_000

/** An attacker who guesses codes has the first factor, so the count never expires and each lock is longer than the last. */
function codeRule({ config }: Deps): LockRule {
  const lockMs = config.lockoutSeconds * 1_000
  return { threshold: config.lockoutThreshold, lockMs, maxLockMs: Math.max(lockMs, longestLockMs), staleBefore: 0 }
}

/** The user gets one mail for all locks until the next login. */
async function tellOfLock(deps: Deps<Pool>, user: { id: string; email: string }, locks: number, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    if (locks === 1) await addNotice(deps, 'two_factor_locked', { user }, actor)
    const about = { userId: user.id, reason: 'invalid_two_factor_code', details: { email: user.email } }
    await recordEvent(deps, { event: 'user.locked', actor, ...about })
  })
}

async function spendTotpStep(deps: Deps<Pool>, factor: FactorRow, code: string): Promise<boolean> {
  const secret = deps.secretBox.open(factor.totp_box, seedContext(factor.user_id))
  const step = findTotpStep(secret, code, deps.clock())
  if (step === undefined) return false
  return SecondFactor.spendStep(deps.db, factor, step)
}

async function spendRecoveryCode(deps: Deps<Pool>, userId: string, code: string, actor: Actor): Promise<boolean> {
  const digests = deps.config.encryptionKeys
    .map((key) => recoveryCodeDigest(key, userId, code))
    .filter((digest) => digest !== undefined)
  if (digests.length === 0) return false
  if (!(await RecoveryCode.spend(deps.db, userId, digests, deps.clock()))) return false
  const left = await RecoveryCode.list(deps.db, { user_id: userId, used_at: null }).resultSize()
  await recordEvent(deps, { event: 'two_factor.recovery_code_used', actor, userId, details: { left } })
  return true
}

/** The context that binds a sealed seed to its user. */
export function seedContext(userId: string): string {
  return `second_factors:${userId}`
}

/** The first factor of a user, which the caller has just checked: a password, a link in a mail or the word of a provider. */
export function firstFactor<U extends ProvenUser>(deps: Deps, user: U, method: string): HalfProof<U> {
  return { user, method, firstProvenAt: deps.clock() }
}

interface ProvenUser extends SecondFactorOwner {
  token_version: number
  min_token_version: number
}

/**
 * Completes a proof: checks the code of the second factor, if the user has one and the browser is not trusted. Throws what
 * `checkSecondFactor` throws.
 *
 *     const proof = await passSecondFactor(deps, firstFactor(deps, user, 'password'), input.two_factor_code, actor)
 */
export async function passSecondFactor(
  deps: Deps<Pool>,
  { user, method, firstProvenAt, trust }: HalfProof<ProvenUser>,
  code: string | undefined,
  actor: Actor,
): Promise<Proof> {
  const factor = user.factor === undefined ? await SecondFactor.findActive(deps.db, user.id) : user.factor
  const second =
    (code === undefined ? secondOf(trust, user, factor) : undefined) ??
    (await checkSecondFactor(deps, { ...user, factor: factor ?? null }, code, actor))
  return proof({ userId: user.id, method, firstProvenAt, signedInAt: deps.clock(), second, version: user.token_version })
}

/** What a trusted browser stands for, unless the trust is another user's or anything has changed since. */
function secondOf(
  trust: HalfProof<unknown>['trust'],
  user: ProvenUser,
  factor: FactorRow | null | undefined,
): ShownFactor | undefined {
  if (!trust || !factor || trust.user_id !== user.id) return undefined
  const { proven_at: provenAt, factor_activated_at: activatedAt, version } = trust
  if (activatedAt !== (factor.activated_at ?? 0) || version < user.min_token_version) return undefined
  return { provenAt, activatedAt, isTrusted: true }
}

/** The first factor that was shown in an earlier step, whose ticket was just opened. `user` is as it is now. */
export function firstFactorOf<U extends SecondFactorOwner & { min_token_version: number }>(
  { userId, version, method, firstProvenAt }: { userId: string; version: number; method: string; firstProvenAt: number },
  user: U,
): HalfProof<U & ProvenUser> {
  if (user.id !== userId) throw new Error('another user was proven')
  return { user: { ...user, token_version: version }, method, firstProvenAt }
}

/** For a user whom this transaction creates and who has no second factor yet. */
export function proofOfNewcomer(user: NewAccount, method: string): Proof {
  const { created_at: now } = user
  return proof({ userId: user.id, method, firstProvenAt: now, signedInAt: now, second: null, version: user.token_version })
}

/** For an account that was taken over: its second factor, whose owner was unknown, has been removed. */
export function proofOfClaimed(deps: Deps, { user }: ClaimedAccount, method: string): Proof {
  const now = deps.clock()
  return proof({ userId: user.id, method, firstProvenAt: now, signedInAt: now, second: null, version: user.token_version })
}

/**
 * For a user whose passkey has just signed, after the device had verified the person. It stands in for the second factor that is
 * active now; one that is activated later has to be shown.
 */
export function proofOfPasskey(deps: Deps, user: ProvenUser, factorActivatedAt: number | null): Proof {
  const now = deps.clock()
  const second = { provenAt: now, activatedAt: factorActivatedAt }
  return proof({ userId: user.id, method: 'passkey', firstProvenAt: now, signedInAt: now, second, version: user.token_version })
}

/** For a proof that a code has kept. Only the model that has just spent the code hands one out. */
export function proofOfCode(code: SpentCode): Proof {
  const { second_proven_at: provenAt, second_activated_at: activatedAt } = code
  const second = provenAt === null ? null : { provenAt, activatedAt, isTrusted: code.second_factor === 'trusted' }
  return proof({
    userId: code.user_id,
    method: code.first_factor,
    firstProvenAt: code.first_proven_at,
    signedInAt: code.signed_in_at ?? code.created_at,
    second,
    version: code.version,
  })
}

function proof(shown: Omit<Proof, symbol>): Proof {
  return shown as Proof
}
