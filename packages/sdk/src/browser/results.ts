import { BrowserAuthError } from './errors.ts'
import type { BrowserOrganization, BrowserUser } from './session.ts'

/**
 * The result of a call for a form to show. An error is a value: `code` is the service's (`invalid_credentials`, …), or `signed_out`
 * or `service_unreachable`; `fields` names what is wrong with the input.
 */
export type Outcome<Value extends object = object> =
  | ({ readonly ok: true; readonly error?: undefined } & Value)
  | { readonly ok: false; readonly error: BrowserAuthError }

/** Turns the errors of a call into values. Throws only what is no `BrowserAuthError`: a fault of the page. */
export async function outcomeOf<Value extends object>(call: () => Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { ok: true, ...(await call()) }
  } catch (error) {
    if (!BrowserAuthError.is(error)) throw error
    return { ok: false, error }
  }
}

export interface SignedIn {
  readonly status: 'signed_in'
  readonly user: BrowserUser
  readonly organization: BrowserOrganization | null
}

/** The password was right, and the account has a second factor. */
export interface TwoFactorRequired {
  readonly status: 'two_factor_required'
  /**
   * Sends the login again with a code: six digits of the authenticator, or a recovery code. If the code is wrong, the error is
   * `invalid_two_factor_code`; you may then call it again.
   */
  submitCode(code: string): Promise<LoginResult>
}

export type LoginResult = Outcome<SignedIn | TwoFactorRequired>

export type RegisterResult = Outcome<Registered>

/** What a registration leads to. */
export type Registered =
  | (SignedIn & {
      /** False for an existing user (`mode: 'register_or_login'`). */
      readonly created: boolean
    })
  /** The user exists, but an admin has to grant access to the app first. */
  | { readonly status: 'access_pending'; readonly user: BrowserUser; readonly created: boolean }
  /** The user exists, but the app requires a verified e-mail address: the link in the mail has to be opened first. */
  | { readonly status: 'email_unverified'; readonly user: BrowserUser; readonly created: boolean }
  /** The user exists, but the app demands a second factor: the user sets one up on this page of the service, and then signs in. */
  | {
      readonly status: 'two_factor_enrollment_required'
      readonly user: BrowserUser
      readonly created: boolean
      readonly enrollmentUrl: string
    }
  | (Omit<TwoFactorRequired, 'submitCode'> & { submitCode(code: string): Promise<RegisterResult> })

/** Who is signed in, for a page to show. It stays the same object until something changes. */
export type AuthState =
  | (SignedIn & {
      /** What the token says. Only a backend can check it: what a page hides or shows is a courtesy. */
      readonly roles: readonly string[]
      readonly permissions: readonly string[]
      /** Whether the token carries all of these permissions. */
      has(...all: string[]): boolean
      /** The last try did not reach the service, or there is no network. The session goes on. */
      readonly offline: boolean
    })
  | {
      readonly status: 'signed_out'
      /** `logout`: the user signed out, in this tab or another. `session_ended`: the service gives the session no more tokens. */
      readonly reason: 'logout' | 'session_ended' | null
    }

export interface LoginInput {
  readonly email: string
  readonly password: string
  /** Six digits of the authenticator, or a recovery code. */
  readonly twoFactorCode?: string
  /** The organization whose roles the session uses. */
  readonly organizationId?: string
  /** More members of the request body, spelt as on the wire: `role_code`, `linked_app_codes`. */
  readonly extra?: Readonly<Record<string, unknown>>
}

export interface EmailCodeRequestInput {
  readonly email: string
  /** Where the link in the same mail leads in the end: one of the app's `allowed_redirect_urls`. */
  readonly redirectUrl?: string
  /** The request before this one, for "Send it again". If no further mail is sent, it stays the one whose code works. */
  readonly requestId?: string
}

export interface EmailCodeRequest {
  /** The code works only together with this. Keep it until the user has typed the code. */
  readonly requestId: string
}

export interface EmailCodeInput extends EmailCodeRequest {
  /** The six digits of the mail. */
  readonly code: string
  /** The password of the account. With it, an account whose address was never proven keeps what it has. */
  readonly password?: string
  /** Six digits of the authenticator, or a recovery code. */
  readonly twoFactorCode?: string
}

export interface RegisterInput {
  readonly email: string
  readonly password: string
  readonly firstName?: string
  readonly lastName?: string
  /** Creates an organization with this name and the user as its admin. */
  readonly organizationName?: string
  /** The token of an invitation (`gin_…`). */
  readonly inviteToken?: string
  /**
   * What happens if the user already exists: `register` (default) is refused with `user_exists`, `register_or_login` logs the
   * user in if the password is right.
   */
  readonly mode?: 'register' | 'register_or_login'
  /** Six digits of the authenticator, or a recovery code. */
  readonly twoFactorCode?: string
  /** More members of the request body, spelt as on the wire. Those that the service does not know go to the app's webhooks. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** Shows that the user is the one who asks. Needed unless the last login was in the last ten minutes. */
export interface IdentityProof {
  readonly password?: string
  /** Needed if a second factor is active. */
  readonly twoFactorCode?: string
}

export interface ChangeEmailInput extends IdentityProof {
  /** The new address of the account. */
  readonly email: string
}

/** The link of a mail. The password shows whose account it is; without it, the session of this browser does. */
export interface MailLinkInput {
  /** The parameter `token` of the link. */
  readonly token: string
  readonly password?: string
  /** Needed with `password` if a second factor is active. */
  readonly twoFactorCode?: string
}
