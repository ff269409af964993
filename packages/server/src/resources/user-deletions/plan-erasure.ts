import type { Pool } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { AuditEvent } from '../../models/audit-event.ts'
import { Invitation } from '../../models/invitation.ts'
import { OutboxMessage } from '../../models/outbox-message.ts'
import { getUser } from '../users/get-user.ts'
import { closeUnlessDeleted } from './delete-user.ts'
import { listAddresses, withoutHolder } from './erase-user.ts'
import type { ErasurePlan } from './schema.ts'

/**
 * Counts what erasing a user would blank. Call it only in a rehearsal: it deletes the user, so that it throws the same errors. It
 * does not blank anything, because that may take long. Throws `not_found`, `last_system_admin`.
 */
export async function planErasure(deps: Deps<Pool>, userId: string, actor: Actor): Promise<ErasurePlan> {
  const deletes = await closeUnlessDeleted(deps, userId, actor)
  const { email } = await getUser(deps, userId)
  const addresses = await listAddresses(deps, userId, email)
  const unheld = await withoutHolder(deps, addresses)
  return {
    user_id: userId,
    deletes,
    addresses: addresses.size,
    audit_events: await AuditEvent.countErasable(deps.db, userId, [...addresses]),
    invitations: await Invitation.countErasable(deps.db, userId, unheld),
    mails: await OutboxMessage.countErasableMails(deps.db, userId, { unheld, addresses: [...addresses] }),
    webhook_deliveries: (await OutboxMessage.listWebhooksOf(deps.db, userId)).length,
  }
}
