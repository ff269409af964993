import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { recordEvent } from '../audit/record-event.ts'
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
