import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { type Actor, actorIdOf } from '../../lib/caller.ts'
import { AccessRequest } from '../../models/access-request.ts'
import { recordEvent, recordEvents } from '../audit/record-event.ts'
import { addMail } from '../mail/compose-mail.ts'
import type { DecisionPayload } from '../mail/mail-tokens.ts'

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
    await addMail(deps, { ...message, priority: 1 }, payload, actor.origin)
  }
}

/** Denies the open requests of a user who is leaving, for every app, without a mail. Returns how many there were. */
export async function denyRequestsOf(deps: Deps<Tx>, userId: string, actor: Actor): Promise<number> {
  const decision = { status: 'denied', reason: null, decided_by: actorIdOf(actor), decided_at: deps.clock() } as const
  const denied = await AccessRequest.closeOpen(deps.db, { userIds: [userId] }, decision)
  await recordClosed(deps, 'grant.request_denied', denied, actor)
  return denied.length
}

/**
 * Closes, as approved, the open requests of users for apps that they may enter now by other ways than an admin's grant: an import,
 * an invitation, a linked app, an automatic grant. Nobody answered the requests, so nobody gets a mail.
 */
export async function closeAnswered(
  deps: Deps<Tx>,
  { userIds, decidedBy }: { userIds: readonly string[]; decidedBy: string | null },
  actor: Actor,
): Promise<void> {
  const decision = { decided_by: decidedBy, decided_at: deps.clock() }
  await recordClosed(deps, 'grant.request_approved', await AccessRequest.closeGranted(deps.db, userIds, decision), actor)
}

async function recordClosed(
  deps: Deps<Tx>,
  event: 'grant.request_approved' | 'grant.request_denied',
  closed: readonly Pick<AccessRequest, 'id' | 'user_id' | 'app_id'>[],
  actor: Actor,
): Promise<void> {
  await recordEvents(
    deps,
    closed.map(({ id, user_id: userId, app_id: appId }) => {
      return { event, actor, userId, appId, details: { request_id: id, reason: null } }
    }),
  )
}
