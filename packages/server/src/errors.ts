import { COMMON_REFUSALS } from '@gatehouse/sdk/protocol'
import { isUniqueViolation } from './lib/violations.ts'

interface ErrorDefinition {
  status: number
  title: string
  /** The code that a client sees, if it differs from the key. Two entries can share one, with different statuses. */
  word?: string
  /** The whole body, if it is not the common one. */
  body?: Readonly<Record<string, boolean>>
}

/**
 * Every error code of the HTTP API with its status, and `permission_denied` and `insufficient_user_authentication`, which only the
 * guards of the SDK send. Clients switch on the codes, so they are stable. A code that is missing here does not compile.
 */
export const errorCodes = {
  validation_failed: { status: 400, title: 'The request is not valid' },
  malformed_request: { status: 400, title: 'The request is not HTTP that this service accepts' },
  invalid_json: { status: 400, title: 'The body is not a JSON object that this service accepts' },
  app_code_required: { status: 400, title: 'An app_code is required' },
  code_immutable: { status: 400, title: 'A code cannot be changed' },
  invalid_invitation: { status: 400, title: 'The invitation is not valid' },
  invalid_token: { status: 400, title: 'The link in the mail is not valid' },
  invalid_sso_state: { status: 400, title: 'This third-party login is unknown, has expired, or was answered before' },
  invalid_sso_code: { status: 400, title: 'The code of the third-party login is not valid' },
  invalid_grant: { status: 400, title: 'The code is not valid' },
  authorization_pending: { status: 400, title: 'Nobody has allowed the sign-in of the device yet' },
  slow_down: { status: 400, title: 'The device asks too often' },
  device_code_expired: { status: 400, title: 'Nobody has allowed the sign-in of the device in time' },
  device_grant_denied: { status: 400, title: 'The person has denied the sign-in of the device' },
  device_grant_disabled: { status: 403, title: 'This app does not sign people in on devices' },
  unsupported_grant_type: { status: 400, title: 'This service has no such grant type' },
  token_missing: COMMON_REFUSALS.token_missing,
  token_invalid: COMMON_REFUSALS.token_invalid,
  token_expired: COMMON_REFUSALS.token_expired,
  token_revoked: COMMON_REFUSALS.token_revoked,
  insufficient_user_authentication: COMMON_REFUSALS.insufficient_user_authentication,
  consumer_app_not_found: { status: 401, word: 'app_not_found', title: 'No app has the code that the assertion names' },
  invalid_credentials: { status: 401, title: 'The e-mail or the password is wrong' },
  two_factor_required: {
    status: 401,
    title: 'A second factor is required. The whole body is `{"requires_2fa": true}`',
    body: { requires_2fa: true },
  },
  second_factor_not_shown: {
    status: 401,
    word: 'two_factor_required',
    title: 'A second factor is required, which cannot be shown in this call',
  },
  invalid_two_factor_code: { status: 401, title: 'The two-factor code is wrong or was used before' },
  invalid_passkey: { status: 401, title: 'The passkey is not valid here' },
  invalid_mail_code: { status: 401, title: 'The code from the mail is not valid' },
  invalid_client: { status: 401, title: 'The app did not authenticate, or its client secret is wrong' },
  invalid_refresh_token: { status: 401, title: 'The refresh token is not valid' },
  refresh_token_reused: { status: 401, title: 'The refresh token was used before; its session has ended' },
  foreign_form: { status: 403, title: 'The form was not sent by a page of this service' },
  permission_denied: COMMON_REFUSALS.permission_denied,
  system_admin_required: { status: 403, title: 'The role system_admin is required' },
  admin_app_not_allowed: { status: 403, title: 'Tokens of this app cannot administer the service' },
  service_caller_required: { status: 403, title: 'Only a service account or a system_admin may do this' },
  insufficient_scope: { status: 403, title: 'The session was not opened with the scope for this' },
  scope_required: { status: 403, title: 'The service account lacks the scope for this' },
  own_key_required: { status: 403, title: "The assertion must be signed with the app's own key" },
  service_mismatch: { status: 403, title: 'The service account belongs to another service' },
  service_reserved: { status: 403, title: 'The permissions of this service are built in' },
  fresh_login_required: {
    status: 403,
    title: 'Sign in again, or send the password and, if a second factor is active, a two-factor code',
  },
  app_inactive: { status: 403, title: 'The app is inactive' },
  machine_tokens_disabled: { status: 403, title: 'This app does not accept tokens of service accounts' },
  two_factor_enrollment_required: {
    status: 403,
    title: 'This app demands a second factor, and the user has none. `enrollment_url` is the page where the user can set one up',
  },
  app_access_denied: { status: 403, title: 'The user has no access to this app' },
  email_unverified: { status: 403, title: 'The e-mail address is not verified' },
  account_suspended: { status: 403, title: 'The account is suspended' },
  organization_admin_required: { status: 403, title: 'Only an org_admin of this organization may do this' },
  organization_membership_required: { status: 403, title: 'The user is not a member of this organization' },
  sign_up_closed: { status: 403, title: 'This app does not accept registrations' },
  organization_sign_up_closed: { status: 403, title: 'Registrations through this app cannot create organizations' },
  email_domain_not_allowed: { status: 403, title: 'This app does not accept registrations from this e-mail domain' },
  auth_method_not_allowed: { status: 403, title: 'This app does not allow this way to sign in' },
  sso_provider_disabled: { status: 403, title: 'The provider is disabled' },
  sso_email_missing: { status: 403, title: 'The provider did not return an e-mail address' },
  not_found: { status: 404, title: 'Not found' },
  app_not_found: { status: 404, title: 'No app has this code' },
  method_not_allowed: { status: 405, title: 'The method is not allowed here' },
  user_exists: { status: 409, title: 'A user with this e-mail exists' },
  link_required: { status: 409, title: 'A user with this e-mail exists, but is not linked to the provider' },
  identity_in_use: { status: 409, title: 'Another user is linked to this account at the provider' },
  email_exists_in_pool: { status: 409, title: 'Another user with this e-mail is in one of the pools' },
  access_granted: { status: 409, title: 'The user already has access to this app' },
  access_request_decided: { status: 409, title: 'This request has already been decided' },
  app_code_taken: { status: 409, title: 'Another app has this code' },
  client_secret_limit: { status: 409, title: 'The app has as many client secrets as it can have' },
  app_in_use: { status: 409, title: 'Users still have access to this app' },
  role_code_taken: { status: 409, title: 'Another role has this code' },
  service_account_name_taken: { status: 409, title: 'Another service account has this name' },
  role_in_use: { status: 409, title: 'The role is still in use' },
  organization_slug_taken: { status: 409, title: 'Another organization has this slug' },
  organization_in_use: { status: 409, title: 'The organization is still in use' },
  sso_provider_code_taken: { status: 409, title: 'Another provider has this code' },
  sso_provider_in_use: { status: 409, title: 'Users are linked to this provider' },
  account_unverified: { status: 409, title: 'The ownership of this account has not been proven' },
  last_sign_in_method: { status: 409, title: 'Nothing would be left to sign in with' },
  passkey_exists: { status: 409, title: 'This passkey is known here already' },
  passkey_limit: { status: 409, title: 'The account has as many passkeys as it can have' },
  last_system_admin: { status: 409, title: 'At least one system_admin with access to an admin app must remain' },
  last_organization_admin: { status: 409, title: 'An organization must keep at least one active org_admin' },
  already_member: { status: 409, title: 'The user is already a member of this organization' },
  two_factor_active: { status: 409, title: 'A second factor is already active' },
  two_factor_not_set_up: { status: 409, title: 'No second factor is set up' },
  permission_owned_by_other_service: { status: 409, title: 'Another service has declared this permission' },
  prune_limit: { status: 409, title: 'More permissions would be pruned than max_prune allows' },
  webhook_not_enabled: { status: 409, title: 'The app has no such enabled webhook' },
  delivery_pending: { status: 409, title: 'The delivery is still pending' },
  delivery_erased: { status: 409, title: 'The user of this delivery was erased' },
  mail_pending: { status: 409, title: 'The mail is still to be sent' },
  mail_not_kept: { status: 409, title: 'The content of this mail is not kept' },
  mail_outdated: { status: 409, title: 'The mail is outdated' },
  consumers_behind: { status: 409, title: 'A consumer or a live token still needs the old key' },
  signing_step_impossible: { status: 409, title: 'This step is not possible in the current state of the app' },
  built_in: { status: 409, title: 'This is built in and cannot be changed this way' },
  request_timeout: { status: 408, title: 'The request took too long to arrive' },
  payload_too_large: { status: 413, title: 'The body is too large' },
  unsupported_media_type: { status: 415, title: 'The body must be application/json' },
  account_locked: { status: 423, title: 'The account is locked after too many failed logins' },
  headers_too_large: { status: 431, title: 'The headers are too large' },
  rate_limited: { status: 429, title: 'Too many requests' },
  internal_error: { status: 500, title: 'Something went wrong on our side' },
  unavailable: COMMON_REFUSALS.unavailable,
} as const satisfies Record<string, ErrorDefinition>

export type ErrorCode = keyof typeof errorCodes

/** What an answer says has gone wrong: an error, or on a page that a provider cannot be reached. */
export type ShownCode = ErrorCode | 'provider_temporarily_unavailable'

export function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(errorCodes, code)
}

/** The code as a client sees it. */
export function wordOf(code: ErrorCode): string {
  const definition: ErrorDefinition = errorCodes[code]
  return definition.word ?? code
}

/** The whole body of an error, for a code that does not use the common one. */
export function ownBodyOf(code: ErrorCode): ErrorDefinition['body'] {
  const definition: ErrorDefinition = errorCodes[code]
  return definition.body
}

/** Why a field of a request is refused. Used only with `validation_failed`. */
export const fieldErrorCodes = [
  'required',
  'invalid_type',
  'invalid_value',
  'unknown_field',
  'too_short',
  'too_long',
  'too_common',
] as const
export type FieldErrorCode = (typeof fieldErrorCodes)[number]

export interface FieldError {
  /** Member names and list positions joined by dots: `webhooks.0.url`. */
  path: string
  code: FieldErrorCode
  message: string
}

interface ApiErrorOptions {
  /** One sentence for the caller. Never the internal reason. */
  detail?: string
  errors?: FieldError[]
  /** Seconds; sent as `Retry-After`. */
  retryAfter?: number
  headers?: Record<string, string>
  /** Further members of the body. */
  members?: Readonly<Record<string, string>>
  /** Only logged. */
  cause?: unknown
}

/** An error that the caller sees as a status and a code. Only `http/answer.ts` turns it into an HTTP response. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly detail: string | undefined
  readonly errors: FieldError[] | undefined
  readonly retryAfter: number | undefined
  readonly headers: Record<string, string>
  readonly members: Readonly<Record<string, string>>

  constructor(code: ErrorCode, options: ApiErrorOptions = {}) {
    super(options.detail ?? errorCodes[code].title, { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.status = errorCodes[code].status
    this.detail = options.detail
    this.errors = options.errors
    this.retryAfter = options.retryAfter
    this.headers = options.headers ?? {}
    this.members = options.members ?? {}
  }
}

/** Catches what a unique index refuses, as the error for a value that another row has. */
export function refuseTaken(code: ErrorCode, detail: string): (error: unknown) => never {
  return (error) => {
    throw isUniqueViolation(error) ? new ApiError(code, { detail, cause: error }) : error
  }
}

const maxErrorsShown = 100

/** A `validation_failed` that names these faults, at most 100 of them. */
export function validationFailed(faults: FieldError[]): ApiError {
  const errors = faults.slice(0, maxErrorsShown)
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join('; ')
  return new ApiError('validation_failed', { detail: detail.slice(0, 500), errors })
}

/**
 * Throws `code_immutable` or `validation_failed` if the caller sent a record back with changes to members that it cannot set.
 * `names` are those members.
 */
export function refuseChanged(names: readonly string[]): void {
  if (names.includes('code')) throw new ApiError('code_immutable', { detail: 'code: cannot be changed' })
  if (names.length > 0)
    throw validationFailed(names.map((path) => ({ path, code: 'invalid_value', message: 'cannot be changed here' })))
}

/** A `validation_failed` about one field, for rules that need more than the body to decide. */
export function fieldError(path: string, code: FieldErrorCode, message: string): ApiError {
  return new ApiError('validation_failed', { detail: `${path}: ${message}`, errors: [{ path, code, message }] })
}
