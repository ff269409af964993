import type { BrowserOrganization, BrowserUser } from './session.ts'

export interface SignedIn {
  readonly status: 'signed_in'
  readonly user: BrowserUser
  readonly organization: BrowserOrganization | null
}

/** The password was right, and the account has a second factor. */
export interface TwoFactorRequired {
  readonly status: 'two_factor_required'
  /**
   * Sends the same again with a code: six digits of the authenticator, or a recovery code. Throws `invalid_two_factor_code`;
   * it may then be called again.
   */
  submitCode(code: string): Promise<LoginResult>
}

export type LoginResult = SignedIn | TwoFactorRequired

export type RegisterResult =
  | (SignedIn & {
      /** False for an existing user (`mode: 'register_or_login'`). */
      readonly created: boolean
    })
  /** The user exists, and an admin has to grant the app. */
  | { readonly status: 'access_pending'; readonly user: BrowserUser; readonly created: boolean }
  /** There is a user, and the app lets it in once the link of the mail is opened. */
  | { readonly status: 'email_unverified'; readonly user: BrowserUser; readonly created: boolean }
  | { readonly status: 'two_factor_required'; submitCode(code: string): Promise<RegisterResult> }

/** Who is signed in, for a page to show. It stays the same object until something changes. */
export type AuthState =
  | (SignedIn & {
      /** The last try did not reach the service or the network. The session goes on. */
      readonly offline: boolean
    })
  | {
      readonly status: 'signed_out'
      /** `logout`: asked for, in this tab or another. `session_ended`: the service gives it no more tokens. */
      readonly reason: 'logout' | 'session_ended' | null
    }

export interface LoginInput {
  readonly email: string
  readonly password: string
  readonly twoFactorCode?: string
  /** The organization whose roles the session uses. */
  readonly organizationId?: string
  /** Further members of the body, as they go on the wire: `role_code`, `linked_app_codes`. */
  readonly extra?: Readonly<Record<string, unknown>>
}

export interface RegisterInput {
  readonly email: string
  readonly password: string
  readonly firstName?: string
  readonly lastName?: string
  /** Founds an organization with the user as its admin. */
  readonly organizationName?: string
  readonly inviteToken?: string
  /** Whether a user who is there already is logged in, when the password fits (default `register`: refused with `user_exists`). */
  readonly mode?: 'register' | 'register_or_login'
  readonly twoFactorCode?: string
  /** Further members of the body, as they go on the wire; the app's webhooks get what the service does not know. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** That it is the user who asks: needed unless the last login was in the last ten minutes. */
export interface IdentityProof {
  readonly password?: string
  /** Where a second factor is active. */
  readonly twoFactorCode?: string
}

export interface ChangeEmailInput extends IdentityProof {
  /** The address that the account is to have. */
  readonly email: string
}

/** The link of a mail, and what shows whose account it is: the password, or else the session of this browser. */
export interface MailLinkInput {
  /** `token` of the link. */
  readonly token: string
  readonly password?: string
}
