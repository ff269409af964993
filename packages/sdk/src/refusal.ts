import { AuthError } from './errors.ts'

/** The service's error shape, with the service's words: a client sees no difference between the two. */
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
 * How to answer a request that `error` ends, for those who write a guard of their own: status, headers, and a body for
 * `application/json`. Undefined for errors that are not about the caller: throw those on. A hint is not in it.
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
