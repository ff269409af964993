import type { KeptProof } from '../../lib/proof.ts'
import type { App } from '../../models/app.ts'
import type { SsoLoginRow } from '../../models/sso-login.ts'

/** How long a user may take at the provider. */
export const answerWithinMs = 10 * 60 * 1_000
/** How long a code is valid: long enough to look for a two-factor code. */
export const codeLifeMs = 5 * 60 * 1_000

/** The user as the provider describes them, in our terms. */
export interface SsoProfile {
  subject: string
  /** Normalized. Null if the provider sent no valid address. */
  email: string | null
  /** As the provider asserts it. `isTrustedAddress` decides whether that counts. */
  emailVerified: boolean
  /** The domain in `hd`, normalized; null when there was none. */
  hostedDomain: string | null
  firstName: string | null
  lastName: string | null
}

/** A login that the provider has answered. */
export interface AnsweredLogin {
  login: KeptProof<SsoLoginRow>
  profile: SsoProfile
}

/** An answered login whose client asks for the tokens. */
export interface Exchange extends AnsweredLogin {
  app: App
  twoFactorCode: string | undefined
}
