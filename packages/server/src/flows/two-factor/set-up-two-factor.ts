import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { newTotpSecret, totpUrl } from '../../lib/totp.ts'
import { SecondFactor } from '../../models/second-factor.ts'
import { recordEvent } from '../../resources/audit/record-event.ts'
import { lockSelf } from '../../resources/sessions/read-self.ts'
import { getUser } from '../../resources/users/get-user.ts'
import { seedContext } from '../sign-in/proof.ts'
import { requireFreshProof } from '../sign-in/prove-again.ts'
import type { SetUpAnswer, SetUpInput } from './schema.ts'

/**
 * Gives the caller a seed for an authenticator app. Logins do not ask for a code until it is activated. Until then, another
 * set-up replaces it. Throws `two_factor_active`, `token_revoked` if the session ended in the
 * meantime, and what `requireFreshProof` throws.
 */
export async function setUpTwoFactor(
  deps: Deps<Pool>,
  input: SetUpInput,
  caller: UserCaller,
  actor: Actor,
): Promise<SetUpAnswer> {
  if (await SecondFactor.findActive(deps.db, caller.userId)) throw new ApiError('two_factor_active')
  await requireFreshProof(deps, { caller, factor: undefined, password: input.password }, actor)
  const secret = newTotpSecret()
  const user = await getUser(deps, caller.userId)
  await transaction(deps, async (deps) => {
    await lockSelf(deps, caller)
    const totpBox = deps.secretBox.seal(secret, seedContext(user.id))
    const isStored = await SecondFactor.setUp(deps.db, { user_id: user.id, totp_box: totpBox, created_at: deps.clock() })
    if (!isStored) throw new ApiError('two_factor_active')
    await recordEvent(deps, { event: 'two_factor.set_up', actor, userId: user.id })
  })
  return { secret, otpauth_url: totpUrl({ secret, issuer: deps.config.issuer, account: user.email }) }
}
