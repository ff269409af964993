import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { poolsOf } from '../../lib/pool-set.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import { addNotice } from '../mail/add-notice.ts'
import type { ShownUser } from '../users/present.ts'
import { findLinkedUser, type Subject } from './find-linked-user.ts'
import { insertIdentity } from './insert-identity.ts'

/**
 * Links a subject to a user who has asked for it. If the user is already linked with the subject, nothing changes. Throws
 * `identity_in_use` if another user of the same pools is linked with it, since a login with it could mean either user. Needs the
 * locks of the subject and of the user's row.
 */
export async function addIdentity(
  deps: Deps<Tx>,
  { providerId, subject }: Subject,
  { user, appId, provider }: { user: ShownUser; appId: string; provider: string },
  actor: Actor,
): Promise<UserIdentity> {
  const of = { user_id: user.id, provider_id: providerId, subject }
  const known = await UserIdentity.find(deps.db, of)
  if (known) return known
  if (await findLinkedUser(deps, { providerId, subject }, poolsOf([user]))) throw new ApiError('identity_in_use')
  await insertIdentity(deps, { providerId, subject }, { userId: user.id, appId, provider }, actor)
  await addNotice(deps, 'identity_linked', { user, appId, provider }, actor)
  return (await UserIdentity.find(deps.db, of))!
}
