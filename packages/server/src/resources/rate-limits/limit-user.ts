import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { takeAttempt } from './take-attempt.ts'

/** Counts a call that hashes a password or sends mail for its caller: a stolen token buys little of either. Throws `rate_limited`. */
export async function limitUser(deps: Deps<Pool>, caller: Pick<UserCaller, 'userId'>): Promise<void> {
  await takeAttempt(deps, `user:${caller.userId}`, deps.config.userLimit)
}
