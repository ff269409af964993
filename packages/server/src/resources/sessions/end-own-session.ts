import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor, UserCaller } from '../../lib/caller.ts'
import { Session } from '../../models/session.ts'
import { endSession } from '../revocations/end-session.ts'

/** Ends one of the caller's own sessions; throws `not_found` for any other and for one that has ended. */
export async function endOwnSession(deps: Deps<Pool>, caller: UserCaller, sessionId: string, actor: Actor): Promise<void> {
  await transaction(deps, async (deps) => {
    const isOwn = await Session.isOpenOf(deps.db, { id: sessionId, user_id: caller.userId })
    if (!isOwn) throw new ApiError('not_found', { detail: 'You have no such session' })
    await endSession(deps, { sessionId, event: 'session.ended' }, actor)
  })
}
