import type { Pool, Tx } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { RecoveryCode } from '../../models/recovery-code.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { TrustedBrowser } from '../../models/trusted-browser.ts'
import { recordEvent } from '../audit/record-event.ts'
import { addNotice } from '../mail/add-notice.ts'
import { getUser } from '../users/get-user.ts'

/** Removes a user's second factor on behalf of an admin. Throws `not_found`, also if none is active. */
export async function removeSecondFactor(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const user = await getUser(deps, userId)
    if (!(await deleteSecondFactor(deps, user.id))) throw new ApiError('not_found', { detail: 'The user has no second factor' })
    await addNotice(deps, 'two_factor_removed', { user }, actor)
    await recordEvent(deps, { event: 'two_factor.removed', actor, userId: user.id })
  })
}

/** Deletes the second factor with its recovery codes, even if its setup is not complete. Returns whether it was active. */
export async function clearSecondFactor(deps: Deps<Tx>, userId: string): Promise<boolean> {
  const wasActive = await deleteSecondFactor(deps, userId)
  await SecondFactor.deleteOfUser(deps.db, userId)
  return wasActive
}

/** Deletes a second factor that was set up or activated since then, with its recovery codes. Returns whether it was active. */
export async function clearSecondFactorSince(deps: Deps<Tx>, userId: string, since: number): Promise<boolean> {
  const factor = await SecondFactor.findByUser(deps.db, userId)
  if (!factor || Math.max(factor.created_at, factor.activated_at ?? 0) < since) return false
  return clearSecondFactor(deps, userId)
}

/** Deletes the active second factor with its recovery codes, and the trust of browsers. Returns false if there was none. Needs a transaction. */
export async function deleteSecondFactor(deps: Deps<Tx>, userId: string): Promise<boolean> {
  const wasActive = await SecondFactor.deleteActive(deps.db, userId)
  if (wasActive) {
    await RecoveryCode.deleteOfUser(deps.db, userId)
    await TrustedBrowser.deleteOfUser(deps.db, userId)
  }
  return wasActive
}
