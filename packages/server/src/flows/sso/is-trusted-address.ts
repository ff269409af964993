import { domainOf } from '../../lib/email.ts'
import type { SsoProvider } from '../../models/sso-provider.ts'
import { isGooglePreset } from '../../resources/sso-providers/preset-issuers.ts'
import type { SsoProfile } from './exchange.ts'

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
