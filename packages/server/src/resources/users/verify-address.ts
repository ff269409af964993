import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { verifiedByLink, verifiedNow } from '../../lib/account-record.ts'
import type { Actor } from '../../lib/caller.ts'
import { User } from '../../models/user.ts'
import { recordEvent } from '../audit/record-event.ts'
import type { PooledUser } from './present.ts'

/**
 * Records that a user has the mailbox of the address, and audits it if `about` is given. `byLinkAlone` means that a mail link is
 * the only proof, which does not show whose the account is. Returns the changed user. What was verified before stays as it is.
 * Needs the lock on the user's row.
 */
export async function verifyAddress(
  deps: Deps<Tx>,
  user: PooledUser,
  about?: { actor: Actor; appId: string },
  { byLinkAlone }: { byLinkAlone: boolean } = { byLinkAlone: false },
): Promise<PooledUser> {
  if (user.mailbox_proven_at !== null || (byLinkAlone && user.email_verified_at !== null)) return user
  const columns = byLinkAlone ? verifiedByLink(deps.clock(), user) : verifiedNow(deps.clock(), user)
  await User.update(deps.db, user.id, columns)
  if (about) await recordEvent(deps, { event: 'email.verified', userId: user.id, ...about })
  return { ...user, ...columns }
}
