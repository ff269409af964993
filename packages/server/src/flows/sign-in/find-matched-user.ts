import type { Deps } from '../../deps.ts'
import { ApiError } from '../../errors.ts'
import type { Actor } from '../../lib/caller.ts'
import { domainOf } from '../../lib/email.ts'
import { poolSet } from '../../lib/pool-set.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { assertMethodAllowed } from '../../resources/apps/check-policy.ts'
import { assertAppActive } from '../../resources/apps/get-app.ts'
import { findLinkedUser } from '../../resources/identities/identities.ts'
import { isGooglePreset } from '../../resources/sso-providers/change-provider.ts'
import { findUserInPools } from '../../resources/users/find-user-in-pools.ts'
import { BASE_ROLE, listGlobalRoles } from '../../resources/users/global-roles.ts'
import type { PooledUser } from '../../resources/users/present.ts'
import { recordingLoginFailure } from './attempt.ts'
import { type Exchange, getProviderOf, type SsoProfile } from './provider-answer.ts'

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

/** The same, for a login that begins: the app is active, and the provider serves it. Audits a refusal. */
export async function matchUser(deps: Deps, exchange: Exchange, actor: Actor): Promise<MatchedUser | undefined> {
  const { app, profile } = exchange
  return recordingLoginFailure(deps, { email: profile.email ?? '', user: undefined, app }, actor, async () => {
    assertAppActive(app)
    return findMatchedUser(deps, exchange, await getProviderOf(deps, exchange))
  })
}

/** Linking by e-mail hands over the account, so it is never done for a user with more than the base role. */
async function hasFurtherRoles(deps: Deps, { id }: PooledUser): Promise<boolean> {
  return (await listGlobalRoles(deps, id)).some((code) => code !== BASE_ROLE)
}

type Asserter = Pick<SsoProvider, 'code' | 'issuer' | 'trusted_email_domains'>

/**
 * Whether the address that a provider asserts counts as verified here: the provider says that it is, and is trusted for its
 * domain. Google vouches for the mailboxes of gmail.com and of the organization in `hd`. Any other address of a Google account
 * was only confirmed once by the owner of the account.
 */
export function isTrustedAddress(
  provider: Asserter,
  { email, emailVerified, hostedDomain }: Pick<SsoProfile, 'email' | 'emailVerified' | 'hostedDomain'>,
): boolean {
  if (email === null || !emailVerified) return false
  const domain = domainOf(email)
  const { trusted_email_domains: trusted } = provider
  if (trusted.includes('*') || trusted.includes(domain)) return true
  return isGooglePreset(provider) && (domain === 'gmail.com' || domain === hostedDomain)
}
