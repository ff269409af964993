/** Every way a call of this package can fail. The service's own, coarser words for a client are in `guard.ts`. */
export type AuthErrorCode =
  | 'TOKEN_MISSING'
  | 'TOKEN_MALFORMED'
  | 'TOKEN_TOO_LARGE'
  | 'TOKEN_ALG'
  | 'TOKEN_SIGNATURE'
  | 'TOKEN_EXPIRED'
  | 'TOKEN_NOT_YET_VALID'
  | 'TOKEN_ISSUER'
  | 'TOKEN_AUDIENCE'
  | 'TOKEN_CLAIMS'
  | 'TOKEN_REVOKED'
  | 'APP_MISMATCH'
  | keyof typeof statuses

/** Of the codes that are not about the token; the others are 401. */
const statuses = {
  PERMISSION_DENIED: 403,
  REVOCATION_UNAVAILABLE: 503,
  SERVICE_UNREACHABLE: 503,
  SERVICE_REJECTED: 502,
  PRUNE_LIMIT: 409,
  CONFIG_INVALID: 500,
} as const

// In the registry of symbols, so that two copies of this package (ESM beside CJS, two versions) know each other's errors.
const brand: unique symbol = Symbol.for('gatehouse.AuthError')

/**
 * The one error of this package. It never holds a token or a part of one, not even as `cause`:
 * what `JSON.parse` says about a bad payload quotes that payload.
 */
export class AuthError extends Error {
  declare readonly name: 'AuthError'
  declare readonly code: AuthErrorCode
  /** The HTTP status to answer with. */
  declare readonly status: number
  /** What was expected and what came, for the developer who reads the log; not for clients. */
  declare readonly hint?: string
  /** Response headers that belong to `status`: `WWW-Authenticate` by RFC 6750, or `Retry-After`. */
  declare readonly headers: Readonly<Record<string, string>>
  /** The service's request id, when the service was asked. */
  declare readonly requestId?: string
  /** Whether the same call may succeed a little later. */
  declare readonly retryable: boolean

  constructor(
    code: AuthErrorCode,
    // The words of the code: a table of sentences would weigh as much as all the claim checks.
    {
      message = code.toLowerCase().replaceAll('_', ' '),
      ...details
    }: { message?: string; hint?: string; headers?: Record<string, string>; requestId?: string } = {},
  ) {
    super(message)
    const status = (statuses as Partial<Record<AuthErrorCode, number>>)[code] ?? 401
    // RFC 6750 section 3: a challenge has at least one parameter; without credentials it names no error.
    const error = code === 'TOKEN_MISSING' ? '' : `, error="${status === 401 ? 'invalid_token' : 'insufficient_scope'}"`
    const challenge: Record<string, string> = status < 404 ? { 'WWW-Authenticate': `Bearer realm="gatehouse"${error}` } : {}
    const headers = status === 503 ? { 'Retry-After': '1' } : challenge
    // Of the details only what there is: an error without them prints shorter.
    Object.assign(this, { name: 'AuthError', code, status, headers, retryable: status === 503, ...details })
  }

  /** On the prototype, where it is not printed. */
  [brand](): void {}

  /** Like `instanceof`, but it also knows the errors of another copy of this package. */
  static is(error: unknown, code?: AuthErrorCode): error is AuthError {
    return brand in Object(error) && (!code || (error as AuthError).code === code)
  }

  /** Without `hint`: an error that is sent as a body by mistake tells a client nothing new. */
  toJSON(): { name: string; code: AuthErrorCode; status: number; message: string; requestId?: string } {
    const { name, code, status, message, requestId } = this
    return { name, code, status, message, requestId }
  }
}

/** What is wrong with a token: the code, and in its hint what to look at. */
export function refused(code: AuthErrorCode, hint?: string): AuthError {
  return new AuthError(code, hint ? { hint } : {})
}

/** What is wrong with how the app was put together; it stops the program where it stands. */
export function configInvalid(message: string): AuthError {
  return new AuthError('CONFIG_INVALID', { message, hint: message })
}

/** All that is wrong with options and variables, at once; each fault names one and says what is wrong. */
export function invalidSettings(...faults: readonly string[]): AuthError {
  return configInvalid(`invalid settings: ${faults.join('; ')}`)
}
