export { type BrowserAuth, createBrowserAuth } from './browser-auth.ts'
export { BrowserAuthError, type BrowserAuthErrorCode, type FieldError } from './errors.ts'
export type { BrowserAuthOptions } from './options.ts'
export type { MailInput, OwnAccount, OwnSession, Profile } from './own-account.ts'
export type { TokenStorage } from './platform.ts'
export type {
  AuthState,
  ChangeEmailInput,
  EmailCodeInput,
  EmailCodeRequest,
  EmailCodeRequestInput,
  IdentityProof,
  LoginInput,
  LoginResult,
  MailLinkInput,
  Outcome,
  Registered,
  RegisterInput,
  RegisterResult,
  SignedIn,
  TwoFactorRequired,
} from './results.ts'
export type { BrowserOrganization, BrowserUser } from './session.ts'
export type { Returned, SignInOptions, SignOutOptions, StepUpOptions } from './sign-in-page.ts'
export type { BrowserSso, Linked, SsoLinkOptions, SsoResult, SsoStartOptions } from './sso.ts'
