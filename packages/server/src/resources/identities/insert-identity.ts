import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { newId } from '../../lib/uuid.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { Subject } from './find-linked-user.ts'

/**
 * Links a user with a subject. The caller must hold the lock on the subject and have checked that no user of the pools is linked
 * with it.
 */
export async function insertIdentity(
  deps: Deps<Tx>,
  { providerId, subject }: Subject,
  { userId, appId, provider }: { userId: string; appId: string; provider: string },
  actor: Actor,
): Promise<void> {
  const now = deps.clock()
  const id = newId(now)
  await UserIdentity.insert(deps.db, { id, user_id: userId, provider_id: providerId, subject, created_at: now })
  await recordEvent(deps, { event: 'identity.linked', actor, userId, appId, details: { id, provider } })
}
