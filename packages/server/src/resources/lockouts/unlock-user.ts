import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { lockUser } from '../users/get-user.ts'
import { forgetFailures } from './forget-failures.ts'

/** Clears the failed logins of a user and their locks, if there are any. Throws `not_found`. */
export async function unlockUser(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const { email } = await lockUser(deps, userId)
    const forgotten = await forgetFailures(deps, { id: userId, email }, { secondFactor: true })
    if (!forgotten) return
    const before = { failures: forgotten.failures, locked: forgotten.isLocked }
    const details = { before, after: { failures: 0, locked: false } }
    await recordEvent(deps, { event: 'user.unlocked', actor, userId, details })
  })
}
