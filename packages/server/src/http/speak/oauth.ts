import { type ApiError, type ErrorCode, errorCodes, wordOf } from '../../errors.ts'
import { errorAsJson, type Reply } from './reply.ts'

/**
 * `alone`: as RFC 6749 says. `added`: beside the members that all errors have. `bearer`: as RFC 6750 says, for what a token opens.
 */
export type OAuthErrorForm = 'alone' | 'added' | 'bearer'

type OAuthError =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'temporarily_unavailable'
  | 'server_error'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'authorization_pending'
  | 'slow_down'
  | 'expired_token'
  | 'access_denied'

const words: Partial<Record<ErrorCode, OAuthError>> = {
  unsupported_grant_type: 'unsupported_grant_type',
  token_missing: 'invalid_client',
  token_invalid: 'invalid_client',
  token_expired: 'invalid_client',
  token_revoked: 'invalid_client',
  app_not_found: 'invalid_client',
  invalid_client: 'invalid_client',
  authorization_pending: 'authorization_pending',
  slow_down: 'slow_down',
  device_code_expired: 'expired_token',
  device_grant_denied: 'access_denied',
  device_grant_disabled: 'unauthorized_client',
  app_inactive: 'unauthorized_client',
  machine_tokens_disabled: 'unauthorized_client',
  scope_required: 'unauthorized_client',
  invalid_grant: 'invalid_grant',
  invalid_refresh_token: 'invalid_grant',
  refresh_token_reused: 'invalid_grant',
  account_suspended: 'invalid_grant',
  second_factor_not_shown: 'invalid_grant',
  two_factor_enrollment_required: 'invalid_grant',
  app_access_denied: 'invalid_grant',
  email_unverified: 'invalid_grant',
  organization_membership_required: 'invalid_grant',
  rate_limited: 'temporarily_unavailable',
  unavailable: 'temporarily_unavailable',
  internal_error: 'server_error',
}

/** For a resource that an access token opens. */
const bearerWords: Partial<Record<ErrorCode, OAuthError>> = {
  token_missing: 'invalid_token',
  token_invalid: 'invalid_token',
  token_expired: 'invalid_token',
  token_revoked: 'invalid_token',
  insufficient_scope: 'insufficient_scope',
}

/**
 * An error for a standard client, with the members of RFC 6749: alone, with its status of 400 or 401, or added to the members that
 * errors have elsewhere. With `bearer`, the words and statuses are those of RFC 6750.
 */
export function errorForOAuth(form: OAuthErrorForm, error: ApiError, requestId: string): Reply {
  const reply = errorAsJson(error, requestId)
  const word = (form === 'bearer' && bearerWords[error.code]) || words[error.code] || 'invalid_request'
  const faults = error.errors?.map(({ path, message }) => `${path}: ${message}`).join('; ')
  const members = { error: word, error_description: printable(faults ?? error.detail ?? errorCodes[error.code].title) }
  if (form === 'added') return { ...reply, body: { ...Object(reply.body), ...members } }
  const body = { ...members, code: wordOf(error.code), ...error.members, request_id: requestId }
  if (form === 'bearer') {
    const scope: Record<string, string> =
      word === 'insufficient_scope' ? { 'WWW-Authenticate': `Bearer realm="gatehouse", error="${word}", scope="openid"` } : {}
    return { ...reply, status: oauthStatusOf(error.code, form), body, headers: { ...reply.headers, ...scope } }
  }
  const status = oauthStatusOf(error.code)
  const challenge: Record<string, string> = status === 401 ? { 'WWW-Authenticate': 'Basic realm="gatehouse"' } : {}
  return {
    ...reply,
    status,
    headers: { ...error.headers, ...challenge },
    body,
  }
}

/** RFC 6749 knows 400 and 401, and RFC 6750 also 403. A status that says more stays. */
export function oauthStatusOf(code: ErrorCode, form: OAuthErrorForm = 'alone'): number {
  const { status } = errorCodes[code]
  if (form === 'added' || (form === 'bearer' && code in bearerWords)) return status
  if (words[code] === 'invalid_client') return 401
  return [404, 413, 429].includes(status) || status >= 500 ? status : 400
}

/** RFC 6749 allows printable ASCII without quotes and backslashes. */
function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, "'")
}
