import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { findLinkedUser } from '../../resources/identities/find-linked-user.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { listGlobalRoles } from '../../resources/users/list-global-roles.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { BASE_ROLE } from '../../resources/users/resolve-global-roles.ts'
import type { Exchange } from './exchange.ts'
import { isTrustedAddress } from './is-trusted-address.ts'

/** A user of the app's pools, and how the provider's answer matched that user. */
export interface MatchedUser {
  user: PooledUser
  /** False if the user was found by the verified e-mail address and is not linked yet. */
  isLinked: boolean
  /** The code of the provider. */
  provider: string
}

/**
 * The user that a login is about: the one in the pools who is linked with the subject, otherwise the one with its e-mail address.
 * Undefined if there is none. This also decides whether the address may link, so the login calls it again under its locks. Throws
 * `auth_method_not_allowed`, `link_required`.
 */
export async function findMatchedUser(
  deps: Deps,
  { login, profile, app }: Exchange,
  provider: SsoProvider,
): Promise<MatchedUser | undefined> {
  const pools = poolSet(app)
  const subject = { providerId: login.provider_id, subject: profile.subject }
  const linked = await findLinkedUser(deps, subject, pools)
  if (linked) return { user: linked, isLinked: true, provider: provider.code }
  const holder = profile.email === null ? undefined : await findUserInPools(deps, profile.email, pools)
  if (!holder) return undefined
  assertMethodAllowed(app, provider.code)
  if (!isTrustedAddress(provider, profile) || (await hasFurtherRoles(deps, holder)))
    throw new ApiError('link_required', { detail: 'Log in another way, then link this provider to your account' })
  return { user: holder, isLinked: false, provider: provider.code }
}

/** Linking by e-mail hands over the account, so it is never done for a user with more than the base role. */
async function hasFurtherRoles(deps: Deps, { id }: PooledUser): Promise<boolean> {
  return (await listGlobalRoles(deps, id)).some((code) => code !== BASE_ROLE)
}
