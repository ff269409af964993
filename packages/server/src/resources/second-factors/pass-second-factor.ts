import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { secondFactorKey } from '../../lib/lock-keys.ts'
import { recoveryCodeDigest } from '../../lib/recovery-code.ts'
import { findTotpStep, totpCodeIn } from '../../lib/totp.ts'
import type { LockRule } from '../../models/lockout.ts'
import { RecoveryCode } from '../../models/recovery-code.ts'
import { type FactorRow, SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../audit/record-event.ts'
import { assertNotLocked, countFailure } from '../lockouts/count-failure.ts'
import { addNotice } from '../mail/add-notice.ts'
import type { NewAccount } from '../users/insert-user.ts'
import type { ClaimableAccount } from '../users/present.ts'
import { clearSecondFactor } from './remove-second-factor.ts'

declare const proven: unique symbol

/** Proof that a user passed the second factor or has none. Only this file makes it, and `openSession` requires it. */
export interface SecondFactorProof {
  readonly userId: string
  /** Milliseconds. The proof does not cover a newer factor. */
  readonly provenAt: number
  /** When the factor was activated. Null if there is none: `openSession` then checks again for one that was activated since. */
  readonly activatedAt: number | null
  readonly [proven]: true
}

/**
 * Checks the second factor at every door, after the first one. An accepted code is spent at once, even if the login then fails,
 * so call this before the transaction. Of concurrent uses of a code, only one succeeds. Wrong codes are counted per user across
 * all doors, and lock the second factor at all of them. Throws `account_locked`, `two_factor_required` without a code,
 * `invalid_two_factor_code`.
 */
export async function passSecondFactor(
  deps: Deps<Pool>,
  user: { id: string; email: string; factor?: FactorRow | null },
  code: string | undefined,
  actor: Actor,
): Promise<SecondFactorProof> {
  const provenAt = deps.clock()
  const factor = user.factor === undefined ? await SecondFactor.findActive(deps.db, user.id) : user.factor
  if (factor) await passCode(deps, user, factor, code, actor)
  return proofFor(user, { provenAt, activatedAt: factor?.activated_at ?? null })
}

/** For a user whom this transaction creates and who has no second factor yet. */
export function proofForNewUser(user: NewAccount): SecondFactorProof {
  return proofFor(user, { provenAt: user.created_at, activatedAt: null })
}

/**
 * Removes the second factor and the recovery codes of an account that is claimed, because their owner is unknown. Takes only
 * unproven accounts, and needs a transaction. `removed` says whether the factor was active.
 */
export async function proofByRemoval(
  deps: Deps<Tx>,
  account: ClaimableAccount,
): Promise<{ proof: SecondFactorProof; removed: boolean }> {
  const removed = await clearSecondFactor(deps, account.id)
  return { proof: proofFor(account, { provenAt: deps.clock(), activatedAt: null }), removed }
}

function proofFor(user: { id: string }, proof: { provenAt: number; activatedAt: number | null }): SecondFactorProof {
  return { userId: user.id, ...proof } as SecondFactorProof
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
  const left = await RecoveryCode.countLeft(deps.db, userId)
  await recordEvent(deps, { event: 'two_factor.recovery_code_used', actor, userId, details: { left } })
  return true
}

/** The context that binds a sealed seed to its user. */
export function seedContext(userId: string): string {
  return `second_factors:${userId}`
}
