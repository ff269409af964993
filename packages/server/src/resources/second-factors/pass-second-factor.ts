import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recoveryCodeDigest } from '../../lib/recovery-code.ts'
import { findTotpStep, totpCodeIn } from '../../lib/totp.ts'
import { RecoveryCode } from '../../models/recovery-code.ts'
import { type FactorRow, SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { NewAccount } from '../users/insert-user.ts'
import type { ClaimableAccount } from '../users/present.ts'
import { clearSecondFactor } from './remove-second-factor.ts'

declare const proven: unique symbol

/** That a user passed the second factor or has none. Made by this file alone and asked for by `openSession`: no door can forget it. */
export interface SecondFactorProof {
  readonly userId: string
  /** False when there was none. `openSession` looks again, for one that was activated since. */
  readonly isPassed: boolean
  /** Milliseconds. A factor that is newer was not asked for. */
  readonly provenAt: number
  readonly [proven]: true
}

/**
 * For every door: once whoever is there has proven the first factor. A code that is accepted is spent at once,
 * whatever becomes of the login, so this stands before the door's transaction; of any number of uses of one code one passes.
 * Throws `two_factor_required` without a code, `invalid_two_factor_code`.
 */
export async function passSecondFactor(
  deps: Deps<Pool>,
  user: { id: string; factor?: FactorRow | null },
  code: string | undefined,
  actor: Actor,
): Promise<SecondFactorProof> {
  const provenAt = deps.clock()
  const factor = user.factor === undefined ? await SecondFactor.findActive(deps.db, user.id) : user.factor
  if (factor) await spendCode(deps, factor, code, actor)
  return proofFor(user, { isPassed: factor != null, provenAt })
}

/** For a user who is created in this very transaction and can have no second factor yet. */
export function proofForNewUser(user: NewAccount): SecondFactorProof {
  return proofFor(user, { isPassed: false, provenAt: user.created_at })
}

/**
 * For an account that is claimed: nobody knows whose second factor it has, so that is removed with its recovery codes. Only an unproven
 * account can be passed here. Needs a transaction. Says whether there was an active one.
 */
export async function proofByRemoval(
  deps: Deps<Tx>,
  account: ClaimableAccount,
): Promise<{ proof: SecondFactorProof; removed: boolean }> {
  const removed = await clearSecondFactor(deps, account.id)
  return { proof: proofFor(account, { isPassed: false, provenAt: deps.clock() }), removed }
}

function proofFor(user: { id: string }, proof: { isPassed: boolean; provenAt: number }): SecondFactorProof {
  return { userId: user.id, ...proof } as SecondFactorProof
}

async function spendCode(deps: Deps<Pool>, factor: FactorRow, code: string | undefined, actor: Actor): Promise<void> {
  if (code === undefined) throw new ApiError('two_factor_required')
  const totpCode = totpCodeIn(code)
  const isSpent = totpCode
    ? await spendTotpStep(deps, factor, totpCode)
    : await spendRecoveryCode(deps, factor.user_id, code, actor)
  if (!isSpent) throw new ApiError('invalid_two_factor_code')
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

/** What a seed is sealed for: it opens for this user alone. */
export function seedContext(userId: string): string {
  return `second_factors:${userId}`
}
