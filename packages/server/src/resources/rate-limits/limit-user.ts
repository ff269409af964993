import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { UserCaller } from '../../lib/caller.ts'
import { takeAttempt } from './take-attempt.ts'

/** Limits calls that hash a password or send mail, so that a stolen token cannot cause many of them. Throws `rate_limited`. */
export async function limitUser(deps: Deps<Pool>, caller: Pick<UserCaller, 'userId'>): Promise<void> {
  await takeAttempt(deps, `user:${caller.userId}`, deps.config.userLimit)
}
