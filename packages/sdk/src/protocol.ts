// What the service, authctl and this package must agree on. Pure: it runs wherever JavaScript does.

/** Longer tokens are refused unread. */
export const MAX_TOKEN_BYTES = 16_384
export const MIN_SECRET_CHARACTERS = 32
/** The default `iss` claim. */
export const DEFAULT_ISSUER = 'gatehouse'
/** How far the clocks of two machines may differ. */
export const CLOCK_TOLERANCE_SECONDS = 5

/** The refusals that the service and the guards of its consumers have in common, by the code that clients see. */
export const COMMON_REFUSALS = {
  token_missing: { status: 401, title: 'A bearer token is required' },
  token_invalid: { status: 401, title: 'The token is not valid' },
  token_expired: { status: 401, title: 'The token has expired' },
  token_revoked: { status: 401, title: 'The token has been revoked' },
  /** Only guards send it, with a challenge that says what is needed (RFC 9470). */
  insufficient_user_authentication: { status: 401, title: 'A fresh proof of who you are is required' },
  /** Only guards send it. The service says which right is missing. */
  permission_denied: { status: 403, title: 'The token does not allow this' },
  unavailable: { status: 503, title: 'The service cannot do this right now' },
} as const

/** The `typ` of a consumer's assertion. */
export const CONSUMER_TOKEN_TYPE = 'consumer+jwt'
export const CONSUMER_TOKEN_SECONDS = 60
/**
 * A consumer signs assertions with a derived key, so that an assertion never passes for a token: HKDF-SHA-256 (RFC 5869) of the
 * secret, without salt, with this as info.
 */
export const CONSUMER_KEY_INFO = 'gatehouse-consumer'
export const CONSUMER_KEY_BYTES = 32

/** The prefixes of tokens that are not JWTs, so that a leaked one shows what it is. */
export const TOKEN_PREFIXES = {
  authorizationCode: 'gac_',
  browser: 'gbr_',
  browserSession: 'gbs_',
  clientSecret: 'gcs_',
  deviceCode: 'gdc_',
  invitation: 'gin_',
  mail: 'gmt_',
  refresh: 'grt_',
  serviceAccount: 'gsa_',
  ssoCode: 'gsc_',
  ssoState: 'gss_',
  trustedBrowser: 'gtb_',
} as const
export type TokenPrefix = (typeof TOKEN_PREFIXES)[keyof typeof TOKEN_PREFIXES]

/**
 * Returns the text whose hash is the id of a secret.
 *
 * @example
 * ```ts
 * createHash('sha256').update(keyIdText(secret)).digest('hex')
 * ```
 */
export function keyIdText(secret: string): string {
  return `gatehouse-kid:${secret}`
}

/**
 * Returns the `kid` of a secret, which tells two secrets apart but does not help to find one. `hash` returns hex digits, as in
 * `node:crypto`.
 *
 * @example
 * ```ts
 * keyIdOf(secret, (algorithm, text) => createHash(algorithm).update(text).digest('hex'))
 * ```
 */
export function keyIdOf(secret: string, hash: (algorithm: 'sha256', text: string) => string): string {
  return hash('sha256', keyIdText(secret)).slice(0, 8)
}
