import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { Lockout } from '../../models/lockout.ts'
import { recordEvent } from '../audit/record-event.ts'
import { lockUser } from '../users/get-user.ts'
import { clearFailures, lockoutKey } from './count-failure.ts'

/** Forgets the failed logins of a user, and the lock that they led to; without any, nothing happens. Throws `not_found`. */
export async function unlockUser(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const { email } = await lockUser(deps, userId)
    const key = lockoutKey(deps, { userId, email, appId: undefined })
    const lockout = await Lockout.findFailures(deps.db, key)
    if (!lockout) return
    await clearFailures(deps, key)
    const isLocked = lockout.locked_until !== null && lockout.locked_until > deps.clock()
    const details = { before: { failures: lockout.failures, locked: isLocked }, after: { failures: 0, locked: false } }
    await recordEvent(deps, { event: 'user.unlocked', actor, userId, details })
  })
}
