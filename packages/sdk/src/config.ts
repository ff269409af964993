import type { ClaimExpectations, Claims } from './claims.ts'
import type { PermissionManifest } from './define-permissions.ts'
import { AuthError } from './errors.ts'

/**
 * Whether a token that is otherwise good has been revoked since it was issued.
 *
 * - `off` (default): a token is good until it expires.
 * - `custom`: the app answers, from a store of its own. Anything but `true` refuses the token with `TOKEN_REVOKED`;
 *   a throw refuses it with `REVOCATION_UNAVAILABLE`. For `verifySync` the answer must not be a promise.
 *
 * Following the revocations of the service comes with a later version, and will be the default then.
 */
export type RevocationOptions =
  | { readonly mode: 'off' }
  | { readonly mode: 'custom'; readonly isCurrent: (claims: Claims) => boolean | Promise<boolean> }

/** An option that is left out is read from the environment variable in brackets, where there is one. */
export interface AuthOptions<Name extends string = string> {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /** The code of this app: tokens of any other app are refused [`SERVICE_APP_CODE`]. */
  readonly appCode?: string
  /** The id of this app; when it is not known, a token needs some `app_id` [`SERVICE_APP_ID`]. */
  readonly appId?: string
  /**
   * The secret shared with the service, at least 32 characters, or `[current, previous]` while it is being rotated
   * [`JWT_ACCESS_SECRET`, `JWT_ACCESS_SECRET_PREVIOUS`].
   */
  readonly secret?: string | readonly [current: string, previous: string]
  /** What `iss` must be [`JWT_ISSUER`, default `gatehouse`]. */
  readonly issuer?: string
  /** How far the clocks of this machine and the service may differ, in seconds, 0 to 60 (default 5). */
  readonly clockToleranceSec?: number
  /** A longer token is refused unread (default 8192). */
  readonly maxTokenBytes?: number
  /** From `definePermissions`; it types the names that a principal is asked for. */
  readonly permissions?: PermissionManifest<Name>
  readonly revocation?: RevocationOptions
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

export interface Config extends ClaimExpectations {
  /** One or two, the current one first. */
  readonly secrets: readonly string[]
  readonly maxTokenBytes: number
  readonly revocation: RevocationOptions
}

const SECRET_MIN_CHARACTERS = 32
const CLOCK_TOLERANCE_MAX_SECONDS = 60
const MAX_TOKEN_BYTES_RANGE = [256, 65_536] as const

/** Reads options and environment; all faults go into one `CONFIG_INVALID`, which names the variables and quotes no value. */
export function readConfig(options: AuthOptions): Config {
  const faults: string[] = []
  const check = (holds: boolean, fault: string) => {
    if (!holds) faults.push(fault)
  }

  const config: Config = {
    appCode: options.appCode ?? fromEnvironment('SERVICE_APP_CODE') ?? '',
    appId: options.appId ?? fromEnvironment('SERVICE_APP_ID'),
    secrets: readSecrets(options.secret),
    issuer: options.issuer ?? fromEnvironment('JWT_ISSUER') ?? 'gatehouse',
    clockToleranceSec: options.clockToleranceSec ?? 5,
    maxTokenBytes: options.maxTokenBytes ?? 8192,
    revocation: options.revocation ?? { mode: 'off' },
    now: options.now ?? Date.now,
  }
  const authUrl = options.authUrl ?? fromEnvironment('SERVICE_AUTH_URL')
  const { appCode, appId, secrets, issuer, clockToleranceSec, maxTokenBytes, revocation, now } = config
  const [smallest, largest] = MAX_TOKEN_BYTES_RANGE

  // A blank at either end is the usual slip of an env file, and would refuse every token.
  check(isWord(appCode), 'SERVICE_APP_CODE (appCode) must be the code of this app, without blanks')
  check(appId === undefined || isWord(appId), 'SERVICE_APP_ID (appId) must be the id of this app, without blanks')
  check(secrets.length === 1 || secrets.length === 2, 'JWT_ACCESS_SECRET (secret) must be one secret, or [current, previous]')
  secrets.forEach((secret, position) => {
    const long = typeof secret === 'string' && secret.length >= SECRET_MIN_CHARACTERS
    const name = position === 0 ? 'JWT_ACCESS_SECRET (secret)' : 'JWT_ACCESS_SECRET_PREVIOUS (secret[1])'
    check(long, `${name} must be set and have at least ${SECRET_MIN_CHARACTERS} characters`)
  })
  check(isWord(issuer), 'JWT_ISSUER (issuer) must not be empty or hold blanks')
  check(authUrl === undefined || isHttpUrl(authUrl), 'SERVICE_AUTH_URL (authUrl) must be an http or https URL')
  check(
    typeof clockToleranceSec === 'number' && clockToleranceSec >= 0 && clockToleranceSec <= CLOCK_TOLERANCE_MAX_SECONDS,
    `clockToleranceSec must be 0 to ${CLOCK_TOLERANCE_MAX_SECONDS}`,
  )
  check(
    Number.isInteger(maxTokenBytes) && maxTokenBytes >= smallest && maxTokenBytes <= largest,
    `maxTokenBytes must be ${smallest} to ${largest}`,
  )
  check(isRevocation(revocation), "revocation must be {mode: 'off'} or {mode: 'custom', isCurrent}")
  check(typeof now === 'function', 'now must be a function')

  if (faults.length > 0) throw new AuthError('CONFIG_INVALID', { message: faults.join('; ') })
  return config
}

function readSecrets(option: AuthOptions['secret']): readonly string[] {
  if (Array.isArray(option)) return [...option]
  // A secret from code is never paired with a previous one that happens to be in the environment.
  if (option !== undefined) return [option as string]
  const previous = fromEnvironment('JWT_ACCESS_SECRET_PREVIOUS')
  return [fromEnvironment('JWT_ACCESS_SECRET') ?? '', ...(previous === undefined ? [] : [previous])]
}

/** A variable that is set to nothing counts as not set, as env files have it. */
function fromEnvironment(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^\S+$/.test(value)
}

function isHttpUrl(value: unknown): boolean {
  return typeof value === 'string' && /^https?:\/\//.test(value) && URL.canParse(value)
}

function isRevocation(value: RevocationOptions): boolean {
  return value?.mode === 'off' || (value?.mode === 'custom' && typeof value.isCurrent === 'function')
}
