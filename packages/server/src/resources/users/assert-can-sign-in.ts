import type { Tx } from '../../db/handle.ts'
import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { relyingPartyOf } from '../../lib/relying-party.ts'
import { Passkey } from '../../models/passkey.ts'
import { UserIdentity } from '../../models/user-identity.ts'
import type { PooledUser } from './present.ts'

/**
 * To be called after a person has removed one of their own ways to sign in, in the same transaction, with the user's row locked: then
 * nobody removes the last one, also by removing two at once. What works nowhere does not count: a passkey of another host, an identity
 * whose provider is disabled or serves no app. Throws `last_sign_in_method`.
 */
export async function assertCanStillSignIn(deps: Deps<Tx>, { id, password_hash }: PooledUser): Promise<void> {
  if (password_hash !== null || (await UserIdentity.hasUsable(deps.db, id))) return
  const party = relyingPartyOf(deps.config.publicUrl)
  if (party && (await Passkey.hasAny(deps.db, { user_id: id, rp_id: party.id }))) return
  throw new ApiError('last_sign_in_method', { detail: 'Set a password first, link a provider, or add a passkey' })
}
