import type { z } from 'zod'
import { type AccountRecord, unprovenWarnings } from '../../lib/account-record.ts'
import { iso } from '../../lib/timestamps.ts'
import type { Role } from '../../models/role.ts'
import type { givenUserRole, roleRecord, userRoleRecord } from './schema.ts'

/** A role as every answer and audit event shows one. */
export function presentRole(role: Role): z.output<typeof roleRecord> {
  return { ...presentMembers(role), created_at: iso(role.created_at), updated_at: iso(role.updated_at) }
}

/** A global role as held by a user. */
export function presentUserRole({ role, assignedAt }: { role: Role; assignedAt: number }): z.output<typeof userRoleRecord> {
  return { ...presentMembers(role), assigned_at: iso(assignedAt) }
}

/** A role in the answer to the admin who gave it to a user. */
export function presentGivenRole(held: { role: Role; assignedAt: number }, user: AccountRecord): z.output<typeof givenUserRole> {
  return { ...presentUserRole(held), ...unprovenWarnings(user) }
}

function presentMembers({ code, name, scope, description, built_in, assignable_by }: Role) {
  return { code, name, scope, description, built_in, assignable_by }
}
