import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { addNotice } from '../../resources/mail/add-notice.ts'
import { deleteSecondFactor } from '../../resources/second-factors/remove-second-factor.ts'
import { lockSelf } from '../../resources/sessions/read-self.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import type { DisableInput } from './schema.ts'

/**
 * Turns the second factor off for a caller who has proven it, and deletes the recovery codes. Throws `two_factor_not_set_up` if
 * none is active, `token_revoked` if the session ended in the meantime, and what `requireFreshProof` throws.
 */
export async function disableTwoFactor(deps: Deps<Pool>, input: DisableInput, caller: UserCaller, actor: Actor): Promise<void> {
  const factor = await SecondFactor.findActive(deps.db, caller.userId)
  if (!factor) throw new ApiError('two_factor_not_set_up')
  await requireFreshProof(deps, { caller, factor, password: input.password, code: input.code ?? input.two_factor_code }, actor)
  await transaction(deps, async (deps) => {
    await lockSelf(deps, caller)
    if (!(await deleteSecondFactor(deps, caller.userId))) throw new ApiError('two_factor_not_set_up')
    await addNotice(deps, 'two_factor_disabled', { user: await getUser(deps, caller.userId), appId: caller.appId }, actor)
    await recordEvent(deps, { event: 'two_factor.disabled', actor, userId: caller.userId })
  })
}
