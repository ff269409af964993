import type { Deps } from '../../deps.ts'
import { firstInPools } from '../../lib/pool-set.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { listUsersByIds } from '../users/find-user-in-pools.ts'
import type { PooledUser } from '../users/present.ts'

/** The provider's id, and the subject that names the user at the provider. */
export interface Subject {
  providerId: string
  subject: string
}

/**
 * Finds the user of the pools who is linked with this subject. Several users may share a subject, as they may share an e-mail;
 * the precedence of e-mails picks the first. Deleted users are not found.
 */
export async function findLinkedUser(
  deps: Deps,
  { providerId, subject }: Subject,
  pools: readonly string[],
): Promise<PooledUser | undefined> {
  const ids = await UserIdentity.listUserIds(deps.db, { provider_id: providerId, subject })
  return ids.length === 0 ? undefined : firstInPools(await listUsersByIds(deps, ids), pools)
}
