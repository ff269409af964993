import { AuthError } from './errors.ts'

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
 */
export function refusal(error: unknown, requestId?: unknown): Refusal | undefined {
  if (!AuthError.is(error)) return undefined
  const words = wireWords(error)
  if (words === undefined) return undefined
  const [code, title, detail = title] = words
  const { status, headers } = error
  const shownId = typeof requestId === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(requestId) ? { request_id: requestId } : {}
  return { status, headers, body: { status, code, title, detail: `${detail}.`, ...shownId } }
}

function wireWords({ code, status }: AuthError): [code: string, title: string, detail?: string] | undefined {
  if (code === 'TOKEN_MISSING') return ['token_missing', 'Access token is missing', 'No access token was sent']
  if (code === 'TOKEN_EXPIRED') return ['token_expired', 'Access token has expired']
  if (code === 'TOKEN_REVOKED') return ['token_revoked', 'Access token was revoked']
  if (status === 401) return ['token_invalid', 'Access token is not valid']
  if (status === 403) return ['permission_denied', 'Permission denied', 'The user may not do this']
  if (status === 503) return ['unavailable', 'Service is unavailable']
  return undefined
}
