/** Every way a call of this package can fail. The service's own, coarser words for a client are in `guard.ts`. */
const errorTable = {
  TOKEN_MISSING: [401, 'No access token was sent'],
  TOKEN_MALFORMED: [401, 'The access token is not a well-formed JWT'],
  TOKEN_TOO_LARGE: [401, 'The access token is too large'],
  TOKEN_ALG: [401, 'The access token is not of the accepted kind'],
  TOKEN_SIGNATURE: [401, 'The signature of the access token does not match'],
  TOKEN_EXPIRED: [401, 'The access token has expired'],
  TOKEN_NOT_YET_VALID: [401, 'The access token is not valid yet'],
  TOKEN_ISSUER: [401, 'The access token comes from another issuer'],
  TOKEN_AUDIENCE: [401, 'The access token was issued for another audience'],
  TOKEN_CLAIMS: [401, 'A claim of the access token is missing or wrong'],
  TOKEN_REVOKED: [401, 'The access token was revoked'],
  APP_MISMATCH: [401, 'The access token was issued for another app'],
  PERMISSION_DENIED: [403, 'The user may not do this'],
  REVOCATION_UNAVAILABLE: [503, 'Whether the access token was revoked cannot be told now'],
  SERVICE_UNREACHABLE: [503, 'The login service cannot be reached'],
  SERVICE_REJECTED: [502, 'The login service refused the call'],
  PRUNE_LIMIT: [409, 'Registering would remove more permissions than allowed'],
  CONFIG_INVALID: [500, 'The configuration is invalid'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type AuthErrorCode = keyof typeof errorTable

// In the registry of symbols, so that two copies of this package (ESM beside CJS, two versions) know each other's errors.
const brand = Symbol.for('gatehouse.AuthError')

/**
 * The one error of this package. It never holds a token or a part of one, not even as `cause`:
 * what `JSON.parse` says about a bad payload quotes that payload.
 */
export class AuthError extends Error {
  override readonly name = 'AuthError'
  readonly code: AuthErrorCode
  /** The HTTP status to answer with. */
  readonly status: number
  /** For the developer who reads the log; not for clients. */
  declare readonly hint?: string
  /** Response headers that belong to `status`: `WWW-Authenticate` by RFC 6750, or `Retry-After`. */
  readonly headers: Readonly<Record<string, string>>
  /** The service's request id, when the service was asked. */
  declare readonly requestId?: string
  /** Whether the same call may succeed a little later. */
  readonly retryable: boolean

  constructor(code: AuthErrorCode, details: { message?: string; hint?: string; requestId?: string } = {}) {
    const [status, message] = errorTable[code]
    super(details.message ?? message)
    this.code = code
    this.status = status
    this.headers = responseHeaders(code, status)
    this.retryable = status === 503
    // Declared, not defined: an error without them prints shorter.
    if (details.hint !== undefined) this.hint = details.hint
    if (details.requestId !== undefined) this.requestId = details.requestId
    Object.defineProperty(this, brand, { value: true })
  }

  /** Like `instanceof`, but it also knows the errors of another copy of this package. */
  static is(error: unknown, code?: AuthErrorCode): error is AuthError {
    if (typeof error !== 'object' || error === null || !(brand in error)) return false
    return code === undefined || (error as { code?: unknown }).code === code
  }

  /** Without `hint`: an error that is sent as a body by mistake tells a client nothing new. */
  toJSON(): { name: string; code: AuthErrorCode; status: number; message: string; requestId?: string } {
    const { name, code, status, message, requestId } = this
    return { name, code, status, message, requestId }
  }
}

function responseHeaders(code: AuthErrorCode, status: number): Readonly<Record<string, string>> {
  if (status === 503) return { 'Retry-After': '1' }
  // RFC 6750 section 3: a challenge has at least one parameter; without credentials it names no error.
  if (code === 'TOKEN_MISSING') return { 'WWW-Authenticate': 'Bearer realm="gatehouse"' }
  if (status === 401) return { 'WWW-Authenticate': 'Bearer realm="gatehouse", error="invalid_token"' }
  if (status === 403) return { 'WWW-Authenticate': 'Bearer realm="gatehouse", error="insufficient_scope"' }
  return {}
}
