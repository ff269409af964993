import type { Deps } from '../../deps.ts'
import type { Actor } from '../../lib/caller.ts'
import { recordEvent } from '../audit/record-event.ts'
import { removeIdentities } from '../identities/remove-identity.ts'
import { addNotice } from '../mail/add-mail.ts'
import { proofByRemoval, type SecondFactorProof } from '../second-factors/pass-second-factor.ts'
import type { PooledUser } from './present.ts'

/**
 * Gives an account whose address nobody had verified to whoever has the mailbox: somebody else may have opened it to wait for them
 * (pre-hijacking, decisions 5). Password, second factor and identities at providers go; the sessions end with the floor that the caller raises last in this
 * transaction. Answers the user as it is then, of the token version above that floor.
 */
export async function claimAccount(
  deps: Deps,
  user: PooledUser,
  appId: string,
  actor: Actor,
): Promise<{ user: PooledUser; secondFactor: SecondFactorProof }> {
  const { proof, removed } = await proofByRemoval(deps, user)
  const claimed = { email_verified_at: deps.clock(), password_hash: null }
  await deps.db('users').where({ id: user.id }).update(claimed)
  const identities = await removeIdentities(deps, user.id)
  const lost = { password: user.password_hash !== null, two_factor: removed, identities }
  await recordEvent(deps, { event: 'email.verified', actor, userId: user.id, appId })
  if (lost.password || lost.two_factor || identities > 0) {
    await addNotice(deps, 'credentials_removed', { user, appId }, actor)
    await recordEvent(deps, { event: 'credentials.removed', actor, userId: user.id, appId, details: lost })
  }
  return { user: { ...user, ...claimed, token_version: user.token_version + 1 }, secondFactor: proof }
}
