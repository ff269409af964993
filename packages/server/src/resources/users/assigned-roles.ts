import type { Actor } from '../../lib/caller.ts'
import type { NewAuditEvent } from '../audit/record-event.ts'
import { BASE_ROLE } from './resolve-global-roles.ts'

/** The audit events of the roles that a user is made with or gains. `base_user` has no event, because every user holds it. */
export function assignedRoles(userId: string, roles: Iterable<string>, actor: Actor): NewAuditEvent[] {
  return [...roles]
    .filter((role) => role !== BASE_ROLE)
    .map((role_code) => ({ event: 'role.assigned', actor, userId, details: { role_code } }))
}
