import { type ApiError, type ErrorCode, errorCodes, wordOf } from '../../errors.ts'
import { errorAsJson, type Reply } from './json.ts'

type OAuthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'
  | 'server_error'

const words: Partial<Record<ErrorCode, OAuthError>> = {
  unsupported_grant_type: 'unsupported_grant_type',
  token_missing: 'invalid_client',
  token_invalid: 'invalid_client',
  token_expired: 'invalid_client',
  token_revoked: 'invalid_client',
  app_not_found: 'invalid_client',
  invalid_client: 'invalid_client',
  app_inactive: 'unauthorized_client',
  machine_tokens_disabled: 'unauthorized_client',
  scope_required: 'unauthorized_client',
  invalid_grant: 'invalid_grant',
  invalid_refresh_token: 'invalid_grant',
  refresh_token_reused: 'invalid_grant',
  account_suspended: 'invalid_grant',
  app_access_denied: 'invalid_grant',
  email_unverified: 'invalid_grant',
  organization_membership_required: 'invalid_grant',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  internal_error: 'server_error',
}

/**
 * An error for a standard client, with the members of RFC 6749: alone, with its status of 400 or 401, or added to the members that
 * errors have elsewhere.
 */
export function errorForOAuth(form: 'alone' | 'added', error: ApiError, requestId: string): Reply {
  const reply = errorAsJson(error, requestId)
  const word = words[error.code] ?? 'invalid_request'
  const faults = error.errors?.map(({ path, message }) => `${path}: ${message}`).join('; ')
  const members = { error: word, error_description: printable(faults ?? error.detail ?? errorCodes[error.code].title) }
  if (form === 'added') return { ...reply, body: { ...Object(reply.body), ...members } }
  const status = oauthStatusOf(error.code)
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Basic realm="gatehouse"' } : {}
  return {
    ...reply,
    status,
    headers: { ...error.headers, ...challenge },
    body: { ...members, code: wordOf(error.code), request_id: requestId },
  }
}

/** RFC 6749 knows 400 and 401. A status that says when to come back stays. */
export function oauthStatusOf(code: ErrorCode): number {
  const { status } = errorCodes[code]
  if (status === 429 || status === 413 || status >= 500) return status
  return words[code] === 'invalid_client' ? 401 : 400
}

/** RFC 6749 allows printable ASCII without quotes and backslashes. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, "'")
}
