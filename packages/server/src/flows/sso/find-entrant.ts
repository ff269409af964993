import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { findLinkedUser } from '../../resources/identities/find-identity.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import type { AnsweredLogin } from './sso-login.ts'

/** A user of the app's pools, and how a provider's word came to mean that user. */
export interface Entrant {
  user: PooledUser
  /** False when it is the verified e-mail that says so, and the link is yet to be made. */
  isLinked: boolean
}

/**
 * Whom a login is about: the user of the pools who is linked with the subject, else the one of its e-mail when the provider has verified
 * that. Undefined: nobody yet. Throws `user_exists` when a user has the e-mail and the provider does not say that it is verified.
 */
export async function findEntrant(
  deps: Deps,
  { login, profile }: AnsweredLogin,
  pools: readonly string[],
): Promise<Entrant | undefined> {
  const subject = { providerId: login.provider_id, subject: profile.subject }
  const linked = await findLinkedUser(deps, subject, pools)
  if (linked) return { user: linked, isLinked: true }
  const holder = profile.email === null ? undefined : await findUserInPools(deps, profile.email, pools)
  if (!holder) return undefined
  if (!profile.emailVerified)
    throw new ApiError('user_exists', { detail: 'The provider has not verified this e-mail, and a user with it exists' })
  return { user: holder, isLinked: false }
}
