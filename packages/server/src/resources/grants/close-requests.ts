import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { recordEvent, recordEvents } from '../audit/record-event.ts'
import { addMail } from '../mail/add-mail.ts'
import type { DecisionPayload } from '../mail/token-purpose.ts'

interface Decision {
  app: { id: string }
  users: readonly { id: string; email: string }[]
  status: 'approved' | 'denied'
  reason: string | null
}

/**
 * Closes the open requests of these users for an app, and mails each of them the decision. Users without an open request get no
 * mail.
 */
export async function closeRequests(deps: Deps<Tx>, { app, users, status, reason }: Decision, actor: Actor): Promise<void> {
  const decision = { status, reason, decided_by: actorIdOf(actor), decided_at: deps.clock() }
  const closed = await AccessRequest.closeOpen(deps.db, { appId: app.id, userIds: users.map(({ id }) => id) }, decision)
  const idOf = new Map(closed.map(({ id, user_id }) => [user_id, id]))
  for (const { id: userId, email } of users) {
    const requestId = idOf.get(userId)
    if (requestId === undefined) continue
    const about = { userId, appId: app.id, details: { request_id: requestId, reason } }
    await recordEvent(deps, { event: `grant.request_${status}`, actor, ...about })
    const payload: DecisionPayload = { reason }
    const message = { name: `access_${status}`, app_id: app.id, user_id: userId, destination: email }
    await addMail(deps, { ...message, priority: 1 }, payload)
  }
}

/** Denies the open requests of a user who is leaving, for every app, without a mail. Returns how many there were. */
export async function denyRequestsOf(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const decision = { status: 'denied', reason: null, decided_by: actorIdOf(actor), decided_at: deps.clock() } as const
  const denied = await AccessRequest.closeOpen(deps.db, { userIds: [userId] }, decision)
  await recordEvents(
    deps,
    denied.map(({ id, app_id: appId }) => {
      return { event: 'grant.request_denied', actor, userId, appId, details: { request_id: id, reason: null } }
    }),
  )
  return denied.length
}
