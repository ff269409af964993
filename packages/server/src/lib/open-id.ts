import { wordsIn } from './words.ts'

/** The value of `acr` and `acr_values` for two factors or a passkey. */
export const mfa = 'mfa'
/** What `acr` says of every other sign-in. In OpenID Connect Core, it claims nothing. */
export const noClass = '0'

/** Of RFC 8628. A code that a device exchanges has it in place of a redirect URL. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** The scopes that an app can ask for. */
export const scopes = ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'] as const
type Scope = (typeof scopes)[number]

export function hasScope(granted: string | null, scope: Scope): boolean {
  return wordsIn(granted).includes(scope)
}

/** What is told about a user. */
export interface Described {
  user: {
    email: string
    mailbox_proven_at: number | null
    first_name: string | null
    last_name: string | null
    locale: string | null
  }
  roles: readonly string[]
  /** The slugs of the organizations that the user is a member of. */
  organizations: readonly string[]
}

export interface StandardClaims {
  name?: string
  given_name?: string
  family_name?: string
  locale?: string
  email?: string
  email_verified?: true
  roles?: string[]
  groups?: string[]
}

/** The names of all claims that `standardClaims` gives. */
export const standardClaimNames = [
  ...(['name', 'given_name', 'family_name', 'locale', 'email', 'email_verified', 'roles', 'groups'] as const),
] satisfies (keyof StandardClaims)[]

/**
 * The claims about a user that each scope asks for, for ID tokens and userinfo. Products find accounts by the e-mail address, also
 * those that do not look whether it is verified. So an address is told only if its mailbox was proven to be the user's: else
 * somebody could register with a stranger's address, and enter the stranger's account there.
 */
export function standardClaims(scope: string | null, { user, roles, organizations }: Described): StandardClaims {
  const { first_name: given, last_name: family, locale } = user
  const name = [given, family].filter((part) => part !== null && part !== '').join(' ')
  return {
    ...(hasScope(scope, 'profile') && {
      ...(name && { name }),
      ...(given && { given_name: given }),
      ...(family && { family_name: family }),
      ...(locale && { locale }),
    }),
    ...(hasScope(scope, 'email') && user.mailbox_proven_at !== null && { email: user.email, email_verified: true as const }),
    ...(hasScope(scope, 'roles') && { roles: [...roles] }),
    ...(hasScope(scope, 'groups') && { groups: [...organizations].sort() }),
  }
}
