import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { Session } from '../../models/session.ts'
import { recordEvent } from '../audit/record-event.ts'
import { recordRevocation } from './record-revocation.ts'

/** Ends one session and audits it as `event`. Does nothing if the session has already ended. Call it last in a transaction. */
export async function endSession(
  deps: Deps<Tx>,
  input: { sessionId: string; event: 'logout' | 'session.ended' | 'token.reuse_detected' },
  actor: Actor,
): Promise<void> {
  const ended = await Session.end(deps.db, input.sessionId, { now: deps.clock(), reason: input.event })
  if (!ended) return
  const about = { userId: ended.user_id, appId: ended.app_id }
  await recordEvent(deps, { event: input.event, actor, ...about, details: { session_id: input.sessionId } })
  await recordRevocation(deps, { ...about, sessionId: input.sessionId, minTokenVersion: null })
}
