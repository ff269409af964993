import type { App } from '../../models/app.ts'
import type { CredentialsTry } from '../../resources/lockouts/settle-try.ts'

/** How long a user may take at the provider. */
export const answerWithinMs = 10 * 60 * 1_000
/** How long a code waits: long enough to look for a two-factor code. */
export const codeLifeMs = 5 * 60 * 1_000

/** A login on its way (table `sso_logins`), as far as its client is concerned. */
export interface SsoLogin {
  state_hash: string
  provider_id: string
  app_id: string
  issuer: string
  redirect_url: string
  client_state: string
  code_challenge: string
}

/** The columns of an `SsoLogin`. */
export const loginColumns = [
  'state_hash',
  'provider_id',
  'app_id',
  'issuer',
  'redirect_url',
  'client_state',
  'code_challenge',
] as const

/** What the provider said of the user, in our terms. */
export interface SsoProfile {
  subject: string
  /** Normalized; null when there was none, or none that is an address. */
  email: string | null
  /** The provider's word. What counts is `isTrustedAddress`. */
  emailVerified: boolean
  /** The domain in `hd`, normalized; null when there was none. */
  hostedDomain: string | null
  firstName: string | null
  lastName: string | null
}

/** A login that the provider has answered. */
export interface AnsweredLogin {
  login: SsoLogin
  profile: SsoProfile
}

/** One whose client came back for the tokens. */
export interface Exchange extends AnsweredLogin {
  app: App
  pools: readonly string[]
  twoFactorCode: string | undefined
  tried: CredentialsTry
}
