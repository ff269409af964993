import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { PooledUser } from './present.ts'

/**
 * Records that a user has the mailbox of the address, and audits it where `about` names who showed that. Returns the user as it is
 * then; an address that was verified before stays as it is. Needs the lock of the user's row.
 */
export async function verifyAddress(
  deps: Deps<Tx>,
  user: PooledUser,
  about?: { actor: Actor; appId: string },
): Promise<PooledUser> {
  if (user.email_verified_at !== null) return user
  const columns = verifiedNow(deps.clock(), user)
  await User.update(deps.db, user.id, columns)
  if (about) await recordEvent(deps, { event: 'email.verified', userId: user.id, ...about })
  return { ...user, ...columns }
}
