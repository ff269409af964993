import type { Deps } from '../../deps.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { ServiceAccount } from '../../models/service-account.ts'

/**
 * The service accounts whose current token a user has seen: the user created or rotated the account, and no other caller has
 * rotated it since. This is read from the audit, so accounts that are older than its oldest event are not found.
 */
export async function listKnownTo(deps: Deps, userId: string): Promise<ServiceAccount[]> {
  const shown = await AuditEvent.listByActor(deps.db, userId, ['service_account.created', 'service_account.rotated'])
  const [first] = shown
  if (!first) return []
  const known = new Map(shown.flatMap((event) => idsIn(event).map((id) => [id, event.id])))
  for (const rotation of await AuditEvent.listSince(deps.db, 'service_account.rotated', first.id)) {
    if (rotation.actor_id === userId) continue
    for (const id of idsIn(rotation)) if (rotation.id > (known.get(id) ?? rotation.id)) known.delete(id)
  }
  return ServiceAccount.listByIds(deps.db, [...known.keys()])
}

/** The id of the account that an event is about, if it names one. */
function idsIn({ details }: AuditEvent): string[] {
  const after = details?.after
  return typeof after === 'object' && after !== null && 'id' in after && typeof after.id === 'string' ? [after.id] : []
}
