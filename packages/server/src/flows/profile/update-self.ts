import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { refuseChanged } from '../../errors.ts'
import type { RequestOrigin, UserCaller } from '../../lib/caller.ts'
import { changedMembers, type SentBack } from '../../lib/sent-back.ts'
import { takeAttempt } from '../../resources/rate-limits/take-attempt.ts'
import { lockSelf, readSelf, userOfSelf } from '../../resources/sessions/read-self.ts'
import { applyChanges } from '../../resources/users/update-user.ts'
import { describeSelf } from './describe-self.ts'
import type { Profile, UpdateSelfInput } from './schema.ts'

/** How often a user may change the names: each change is audited for good. */
const profileWrites = { count: 60, seconds: 60 }

/**
 * Changes the names of the caller's account, and returns what `describeSelf` returns. Reads the session again under the lock of
 * the user's row, so a user who was suspended or deleted in the meantime changes nothing. Throws `rate_limited`,
 * `token_revoked`, and what `refuseChanged` throws.
 */
export async function updateSelf(
  deps: Deps<Pool>,
  input: UpdateSelfInput,
  sentBack: SentBack,
  actor: { caller: UserCaller; origin: RequestOrigin },
): Promise<Profile> {
  await takeAttempt(deps, `profile-writes:${actor.caller.userId}`, profileWrites)
  return transaction(deps, async (deps) => {
    const before = await lockSelf(deps, actor.caller)
    if (Object.keys(sentBack).length > 0) {
      const shown = await describeSelf(deps, before)
      refuseChanged(changedMembers(sentBack, { ...shown.user, ...shown }))
    }
    await applyChanges(deps, userOfSelf(before), input, actor)
    return describeSelf(deps, await readSelf(deps, actor.caller.claims))
  })
}
