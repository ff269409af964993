import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { raiseTokenVersion } from '../revocations/end-tokens.ts'
import { lockUser } from '../users/get-user.ts'

/** Ends every session of a user and kills every access token, in all apps. Throws `not_found`. */
export async function logOutEverywhere(deps: Deps<Pool>, userId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    await lockUser(deps, userId)
    await recordEvent(deps, { event: 'logout.all', actor, userId })
    await raiseTokenVersion(deps, { userId, appId: null, reason: 'logout.all' })
  })
}
