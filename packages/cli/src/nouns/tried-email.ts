import type { AuditEvent } from './audit-events.ts'

/** Shows the e-mail that was tried in place of a name, for a refused login that has no user. */
export function withTriedEmail(event: AuditEvent): AuditEvent {
  const email = event.details?.email
  if (event.user_id !== null || typeof email !== 'string') return event
  return { ...event, names: { ...event.names, user: email } }
}
