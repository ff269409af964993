/** The codes of this package. Every other code comes from the service (docs/reference/errors.md). */
type OwnCode =
  /** The service did not answer: offline, cut off, or another server answered in its place. */
  | 'service_unreachable'
  /** No user is signed in here. */
  | 'signed_out'
  /** `fetch` was asked to send the token to an origin that is not this page's, the service's or one of `apiOrigins`. */
  | 'origin_not_allowed'
  /** The answer does not belong to a login that this tab began: a foreign link, or a link that was opened twice. */
  | 'sso_state_mismatch'
  /** The provider did not log the user in. The user may have cancelled. */
  | 'sso_denied'
  /** A third-party login ended with another error: the provider cannot be reached, or its answer is not valid. */
  | 'sso_failed'
  /**
   * The answer does not belong to a sign-in that this browser began, or one that it began more than a day ago, or it is not from
   * the service that was asked.
   */
  | 'sign_in_mismatch'
  /** The proof that `stepUp` asked for was given by another user. Who was signed in stays so. */
  | 'user_mismatch'
  /** The service has no sign-in page: it is too old, or its `PUBLIC_URL` has a path. */
  | 'sign_in_unavailable'
  /**
   * The app demands a second factor that this call cannot take, such as a passkey: sign the user in on the sign-in page (`signIn`).
   */
  | 'sign_in_required'
  /** An option is missing or wrong. */
  | 'config_invalid'

/** `(string & {})` keeps the known codes in the editor's suggestions. */
export type BrowserAuthErrorCode =
  | OwnCode
  | 'invalid_credentials'
  | 'invalid_two_factor_code'
  | 'account_locked'
  | 'account_suspended'
  | 'app_access_denied'
  | 'two_factor_enrollment_required'
  | 'login_required'
  | 'interaction_required'
  | 'access_denied'
  | 'invalid_grant'
  | 'rate_limited'
  | 'user_exists'
  | 'validation_failed'
  | (string & {})

export interface FieldError {
  /** The path of the field in the body, such as `password`. */
  readonly path: string
  readonly code: string
  readonly message: string
}

interface Details {
  readonly hint?: string
  readonly status?: number | undefined
  readonly fields?: readonly FieldError[]
  readonly requestId?: string
  readonly retryAfterSec?: number
  readonly enrollmentUrl?: string
}

// A registered symbol, so that two copies of this package recognize each other's errors.
const brand = Symbol.for('gatehouse.BrowserAuthError')

/**
 * The error class of this entry point. It never holds a token, a password or a code of a third-party login.
 *
 * @example
 * ```ts
 * import { BrowserAuthError } from '@gatehouse/sdk/browser'
 *
 * try {
 *   await auth.login({ email, password })
 * } catch (error) {
 *   if (!(error instanceof BrowserAuthError)) throw error
 *   console.log(error.code, error.fields)
 * }
 * ```
 */
export class BrowserAuthError extends Error {
  override readonly name = 'BrowserAuthError'
  readonly code: BrowserAuthErrorCode
  /** The HTTP status of the service's answer. Undefined without an answer. */
  readonly status: number | undefined
  /** The fields that are wrong, and why. Empty unless the code is `validation_failed`. */
  readonly fields: readonly FieldError[]
  /** The service's id of the request, for its operators. */
  readonly requestId: string | undefined
  /** How long to wait before you try again, in seconds, if the service said so. */
  readonly retryAfterSec: number | undefined
  /** The page where the user can set up a second factor. Only if the code is `two_factor_enrollment_required`. */
  readonly enrollmentUrl: string | undefined
  /** Whether the same call may succeed a little later. */
  readonly retryable: boolean
  /** What to look at, for developers. Users read `message`. */
  readonly hint: string | undefined

  constructor(
    code: BrowserAuthErrorCode,
    message: string,
    { status, fields = [], requestId, retryAfterSec, enrollmentUrl, hint }: Details = {},
  ) {
    super(message)
    this.code = code
    this.hint = hint
    this.status = status
    this.fields = fields
    this.requestId = requestId
    this.retryAfterSec = retryAfterSec
    this.enrollmentUrl = enrollmentUrl
    this.retryable = code === 'service_unreachable' || status === 429 || (status ?? 0) >= 500
    Object.defineProperty(this, brand, { value: true })
  }

  /** Like `instanceof`, but also true for errors of another copy of this package. With `code`, the code must match too. */
  static is(error: unknown, code?: BrowserAuthErrorCode): error is BrowserAuthError {
    if (typeof error !== 'object' || error === null || !(brand in error)) return false
    return code === undefined || ('code' in error && error.code === code)
  }
}
