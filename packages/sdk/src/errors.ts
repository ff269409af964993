/** Every way a call of this package can fail. Clients see the service's coarser codes, which `refusal` returns. */
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
  | 'STEP_UP_REQUIRED'
  | keyof typeof statuses

/** The HTTP statuses of the codes that are not about the token. All other codes have 401. */
const statuses = {
  PERMISSION_DENIED: 403,
  REVOCATION_UNAVAILABLE: 503,
  SERVICE_UNREACHABLE: 503,
  SERVICE_REJECTED: 502,
  PRUNE_LIMIT: 409,
  CONFIG_INVALID: 500,
} as const

// A registered symbol, so that two copies of this package (ESM beside CJS, two versions) recognize each other's errors.
const brand: unique symbol = Symbol.for('gatehouse.AuthError')

/**
 * The error class of this package. It never holds a token or a part of one, not even as `cause`: `JSON.parse` quotes a bad
 * payload in its message.
 *
 * @example
 * ```ts
 * import { AuthError } from '@gatehouse/sdk'
 *
 * try {
 *   await auth.verify(token)
 * } catch (error) {
 *   if (error instanceof AuthError && error.code === 'TOKEN_EXPIRED') console.log(error.hint)
 *   else throw error
 * }
 * ```
 */
export class AuthError extends Error {
  declare readonly name: 'AuthError'
  declare readonly code: AuthErrorCode
  /** The HTTP status to answer with. */
  declare readonly status: number
  /** What was expected and what was received. For the developer who reads the log, not for clients. */
  declare readonly hint?: string
  /** Response headers that go with `status`: `WWW-Authenticate` (RFC 6750) or `Retry-After`. */
  declare readonly headers: Readonly<Record<string, string>>
  /** The service's request id, if the error came from a call to the service. */
  declare readonly requestId?: string
  /** Whether the same call may succeed a little later. */
  declare readonly retryable: boolean

  constructor(
    code: AuthErrorCode,
    // By default, the words of the code. A table of sentences would be as large as all the claim checks.
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
    // Sets only the details that are present, so that an error without them prints shorter.
    Object.assign(this, { name: 'AuthError', code, status, headers, retryable: status === 503, ...details })
  }

  /** On the prototype, so that it is not printed. */
  [brand](): void {}

  /** Like `instanceof`, but also true for errors of another copy of this package. With `code`, the code must match too. */
  static is(error: unknown, code?: AuthErrorCode): error is AuthError {
    return brand in Object(error) && (!code || Object(error).code === code)
  }

  /** Leaves out `hint`, so that an error sent as a body by mistake tells the client nothing new. */
  toJSON(): { name: string; code: AuthErrorCode; status: number; message: string; requestId?: string } {
    const { name, code, status, message, requestId } = this
    return { name, code, status, message, requestId }
  }
}

/** Creates an error. The hint says what was expected and what was received. */
export function refused(code: AuthErrorCode, hint?: string): AuthError {
  return new AuthError(code, hint ? { hint } : {})
}

/** Creates the `CONFIG_INVALID` for an app that is put together wrongly. */
export function configInvalid(message: string): AuthError {
  return new AuthError('CONFIG_INVALID', { message, hint: message })
}

/** Creates one `CONFIG_INVALID` for all wrong options and variables. Each fault names one and says what is wrong with it. */
export function invalidSettings(...faults: readonly string[]): AuthError {
  return configInvalid(`invalid settings: ${faults.join('; ')}`)
}
