import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Lockout } from '../../models/lockout.ts'
import { recordEvent } from '../audit/record-event.ts'

/** Clears one counter of failures and its lock. Throws `not_found`. */
export async function clearLockout(deps: Deps<Pool>, key: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const counter = await Lockout.findForUpdate(deps.db, key)
    if (!counter) throw new ApiError('not_found', { detail: 'No failures are counted under this key' })
    await Lockout.clear(deps.db, [key])
    const isLocked = counter.locked_until !== null && counter.locked_until > deps.clock()
    const details = { key, before: { failures: counter.failures, locked: isLocked }, after: { failures: 0, locked: false } }
    await recordEvent(deps, { event: 'user.unlocked', actor, userId: counter.user_id, details })
  })
}
