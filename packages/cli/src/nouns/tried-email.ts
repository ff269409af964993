import type { AuditEvent } from './audit-events.ts'

/** A refused login that is about no user, with the e-mail that was tried in the place of the name. */
export function withTriedEmail(event: AuditEvent): AuditEvent {
  const email = event.details?.email
  if (event.user_id !== null || typeof email !== 'string') return event
  return { ...event, names: { ...event.names, user: email } }
}
