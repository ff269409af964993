import type { Pool, Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { recoveryCodeDigest } from '../../lib/recovery-code.ts'
import { findTotpStep, totpCodeIn } from '../../lib/totp.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { ClaimableAccount } from '../users/present.ts'
import { findActiveFactor, type SecondFactor, seedContext } from './find-second-factor.ts'
import { clearSecondFactor } from './remove-second-factor.ts'

declare const proven: unique symbol

/** That a user passed the second factor or has none. Made by this file alone and asked for by `openSession`: no door can forget it. */
export interface SecondFactorProof {
  readonly userId: string
  readonly [proven]: true
}

/**
 * Contract 4.5 step 6, for every door: once whoever is there has proven the first factor. A code that is accepted is spent at once,
 * whatever becomes of the login, so this stands before the door's transaction; of any number of uses of one code one passes.
 * Throws `two_factor_required` without a code, `invalid_two_factor_code`.
 */
export async function passSecondFactor(
  deps: Deps<Pool>,
  user: { id: string },
  code: string | undefined,
  actor: Actor,
): Promise<SecondFactorProof> {
  const factor = await findActiveFactor(deps, user.id)
  if (factor) await spendCode(deps, factor, code, actor)
  return proofFor(user)
}

/** For a user who is created in this very transaction and can have no second factor yet. */
export function proofForNewUser(user: { id: string }): SecondFactorProof {
  return proofFor(user)
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
  return { proof: proofFor(account), removed }
}

function proofFor(user: { id: string }): SecondFactorProof {
  return { userId: user.id } as SecondFactorProof
}

async function spendCode(deps: Deps<Pool>, factor: SecondFactor, code: string | undefined, actor: Actor): Promise<void> {
  if (code === undefined) throw new ApiError('two_factor_required')
  const totpCode = totpCodeIn(code)
  const isSpent = totpCode
    ? await spendTotpStep(deps, factor, totpCode)
    : await spendRecoveryCode(deps, factor.user_id, code, actor)
  if (!isSpent) throw new ApiError('invalid_two_factor_code')
}

async function spendTotpStep(deps: Deps<Pool>, factor: SecondFactor, code: string): Promise<boolean> {
  const secret = deps.secretBox.open(factor.totp_box, seedContext(factor.user_id))
  const step = findTotpStep(secret, code, deps.clock())
  if (step === undefined) return false
  const updated = await deps
    .db('second_factors')
    .where({ user_id: factor.user_id, totp_box: factor.totp_box })
    .andWhere((row) => row.whereNull('last_step').orWhere('last_step', '<', step))
    .update({ last_step: step })
  return updated > 0
}

async function spendRecoveryCode(deps: Deps<Pool>, userId: string, code: string, actor: Actor): Promise<boolean> {
  const digests = deps.config.encryptionKeys
    .map((key) => recoveryCodeDigest(key, userId, code))
    .filter((digest) => digest !== undefined)
  if (digests.length === 0) return false
  const used = await deps
    .db('recovery_codes')
    .where({ user_id: userId })
    .whereIn('code_hash', digests)
    .whereNull('used_at')
    .update({ used_at: deps.clock() })
  if (used === 0) return false
  const [left] = await deps.db('recovery_codes').where({ user_id: userId }).whereNull('used_at').count({ n: '*' })
  await recordEvent(deps, { event: 'two_factor.recovery_code_used', actor, userId, details: { left: Number(left!.n) } })
  return true
}
