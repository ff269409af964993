import type { Pool } from '../../db/handle.ts'
import { transaction } from '../../db/transaction.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { Session } from '../../models/session.ts'
import { endSession } from '../revocations/end-tokens.ts'

/** Ends one session of a user. Throws `not_found` if the session has ended or belongs to another user. */
export async function endUserSession(
  deps: Deps<Pool>,
  { userId, sessionId }: { userId: string; sessionId: string },
  actor: Actor,
): Promise<void> {
  await transaction(deps, async (deps) => {
    const isTheirs = await Session.isOpenOf(deps.db, { id: sessionId, user_id: userId })
    if (!isTheirs) throw new ApiError('not_found', { detail: 'The user has no such session' })
    await endSession(deps, { sessionId, event: 'session.ended' }, actor)
  })
}
