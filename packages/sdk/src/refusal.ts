import { AuthError, type AuthErrorCode } from './errors.ts'
import { COMMON_REFUSALS } from './protocol.ts'

/** An answer in the service's error shape and words, so a client cannot tell it from an answer of the service. */
export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly status: number
    readonly code: string
    readonly title: string
    readonly detail: string
    readonly request_id?: string
  }
}

/**
 * Returns the answer to a request that failed with `error`, for a guard that you write yourself: status, headers, and a body for
 * `application/json`. It never contains the hint, and contains `requestId` if that is well formed. Returns undefined for errors
 * that are not about the caller: rethrow those.
 *
 * @example
 * ```ts
 * import { refusal } from '@gatehouse/sdk'
 *
 * try {
 *   await auth.verify(token)
 * } catch (error) {
 *   const answer = refusal(error)
 *   if (!answer) throw error
 *   response.writeHead(answer.status, answer.headers).end(JSON.stringify(answer.body))
 * }
 * ```
 */
export function refusal(error: unknown, requestId?: unknown): Refusal | undefined {
  if (!AuthError.is(error)) return undefined
  const code = codes[error.code] ?? codesByStatus[error.status]
  if (code === undefined) return undefined
  const { status, title } = COMMON_REFUSALS[code]
  const detail = code === 'token_missing' ? 'Send it as "Authorization: Bearer <token>".' : `${title}.`
  const shownId = typeof requestId === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(requestId) ? { request_id: requestId } : {}
  return { status, headers: error.headers, body: { status, code, title, detail, ...shownId } }
}

type RefusalCode = keyof typeof COMMON_REFUSALS

const codes: { readonly [Code in AuthErrorCode]?: RefusalCode } = {
  TOKEN_MISSING: 'token_missing',
  TOKEN_EXPIRED: 'token_expired',
  TOKEN_REVOKED: 'token_revoked',
  STEP_UP_REQUIRED: 'insufficient_user_authentication',
}
const codesByStatus: { readonly [status: number]: RefusalCode | undefined } = {
  401: 'token_invalid',
  403: 'permission_denied',
  503: 'unavailable',
}
