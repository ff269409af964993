import type { ClaimExpectations, Claims } from './claims.ts'
import type { PermissionManifest } from './define-permissions.ts'
import { AuthError } from './errors.ts'

/** Following the revocations of the service; what is left out has the value in brackets. */
export interface FeedOptions {
  readonly mode: 'feed'
  /**
   * What happens to tokens while the feed is older than `maxStaleSec`, or has not been read yet: they are verified by what is
   * known (`allow`), or refused with `REVOCATION_UNAVAILABLE` [`allow`].
   */
  readonly onStale?: 'allow' | 'deny'
  /** From which age on the feed is stale, in seconds [60]. A stream that is open and quiet is not stale for 20 s. */
  readonly maxStaleSec?: number
}

/**
 * Whether a token that is otherwise good has been revoked since it was issued (docs/revocation.md).
 *
 * - `feed` (default on Node): the service tells, within moments. Needs `authUrl`.
 * - `custom`: the app answers, from a store of its own. Anything but `true` refuses the token with `TOKEN_REVOKED`;
 *   a throw refuses it with `REVOCATION_UNAVAILABLE`. For `verifySync` the answer must not be a promise.
 * - `off` (default elsewhere): a token is good until it expires.
 */
export type RevocationOptions =
  | FeedOptions
  | { readonly mode: 'off' }
  | { readonly mode: 'custom'; readonly isCurrent: (claims: Claims) => boolean | Promise<boolean> }

/** What happens in the background; `health()` says how things stand. */
export type AuthEvent =
  /** The feed is being followed. `poll`: by asking every few seconds, for no stream has come through so far. */
  | { readonly type: 'revocation.connected'; readonly transport: 'stream' | 'poll' }
  /** It is not; told once for each reason (`HTTP 401`, `ECONNREFUSED`, …) until it is again. */
  | { readonly type: 'revocation.disconnected'; readonly reason: string; readonly retryInMs: number }
  /** It has not been followed for more than `maxStaleSec`; told once. `null` when it never was. */
  | { readonly type: 'revocation.stale'; readonly ageSec: number | null }

/** The platform's own `fetch`, in whatever types the app has of it. */
type Fetch = typeof globalThis extends { fetch: infer Known } ? Known : (url: string, init: object) => Promise<unknown>

/** An option that is left out is read from the environment variable in brackets, where there is one. */
export interface AuthOptions<Name extends string = string> {
  /** The address of the service, with or without `/api/v1`; the feed needs it [`SERVICE_AUTH_URL`]. */
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
  /** How the service is called (default the global `fetch`). */
  readonly fetch?: Fetch
  /** Is told what happens in the background; what it throws is ignored. */
  readonly onEvent?: (event: AuthEvent) => void
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

export interface Config extends ClaimExpectations {
  /** With `/api/v1`. */
  readonly authUrl: string
  /** One or two, the current one first. */
  readonly secrets: readonly string[]
  readonly maxTokenBytes: number
  readonly revocation: RevocationOptions
  readonly fetch: Fetch
  readonly onEvent: ((event: AuthEvent) => void) | undefined
}

/** Reads options and environment; all faults go into one `CONFIG_INVALID`, which names the variables and quotes no value. */
export function readConfig(options: AuthOptions): Config {
  const faults: string[] = []
  const read = <Name extends keyof AuthOptions>(
    name: Name,
    holds: (value: unknown) => boolean,
    fallback?: AuthOptions[Name],
    variable?: string,
  ): NonNullable<AuthOptions[Name]> => {
    const value = options[name] ?? fromEnvironment(variable) ?? fallback
    if (!holds(value)) faults.push(variable ? `${variable} (${name})` : name)
    return value as NonNullable<AuthOptions[Name]>
  }

  // Tokens can be checked without any service; only the feed needs one, and whoever asks for it in words must name it.
  const knowsService = Boolean(options.authUrl ?? fromEnvironment('SERVICE_AUTH_URL'))
  const revocation = read('revocation', isRevocation, { mode: knowsService && runsOnNode() ? 'feed' : 'off' })
  const isAddress = (url: unknown) => (url === undefined ? revocation?.mode !== 'feed' : isHttpUrl(url))
  const secrets = [options.secret ?? [fromEnvironment('JWT_ACCESS_SECRET'), fromEnvironment('JWT_ACCESS_SECRET_PREVIOUS')]].flat()
  // A secret from code is never paired with a previous one that happens to be in the environment.
  if (secrets[1] === undefined) secrets.length = 1
  if (!isSecret(secrets[0]) || secrets.length > 2) faults.push('JWT_ACCESS_SECRET (secret, 32 characters or more)')
  if (secrets.length > 1 && !isSecret(secrets[1])) faults.push('JWT_ACCESS_SECRET_PREVIOUS (secret[1], 32 characters or more)')

  const config: Config = {
    // A blank at either end is the usual slip of an env file, and would refuse every token.
    appCode: read('appCode', isWord, undefined, 'SERVICE_APP_CODE'),
    appId: read('appId', (id) => id === undefined || isWord(id), undefined, 'SERVICE_APP_ID'),
    issuer: read('issuer', isWord, 'gatehouse', 'JWT_ISSUER'),
    authUrl: String(read('authUrl', isAddress, undefined, 'SERVICE_AUTH_URL')).replace(/(\/api\/v1)?\/*$/, '/api/v1'),
    secrets: secrets as string[],
    clockToleranceSec: read('clockToleranceSec', isWithin(0, 60), 5),
    maxTokenBytes: read('maxTokenBytes', isWithin(256, 65_536), 8192),
    revocation,
    fetch: read('fetch', isFunction, globalThis.fetch),
    onEvent: options.onEvent,
    now: read('now', isFunction, Date.now),
  }
  if (faults.length > 0) throw new AuthError('CONFIG_INVALID', { message: `missing or invalid: ${faults.join(', ')}` })
  return config
}

/** A variable that is set to nothing counts as not set, as env files have it. */
function fromEnvironment(name: string | undefined): string | undefined {
  return (name && globalThis.process?.env?.[name]) || undefined
}

/** Not where Node is imitated: Bun, Deno, Workers and jsdom say what they are. */
function runsOnNode(): boolean {
  return /^Node|^$/.test(globalThis.navigator?.userAgent ?? '') && globalThis.process !== undefined
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && /^\S+$/.test(value)
}

function isSecret(value: unknown): boolean {
  return typeof value === 'string' && value.length >= 32
}

function isHttpUrl(value: unknown): boolean {
  return /^https?:/.test(String(value)) && URL.canParse(String(value))
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isWithin(least: number, most: number): (value: unknown) => boolean {
  return (value) => typeof value === 'number' && value >= least && value <= most
}

function isRevocation(value: unknown): boolean {
  const { mode, isCurrent, onStale = 'allow', maxStaleSec = 60 } = Object(value)
  if (mode === 'custom') return isFunction(isCurrent)
  return mode === 'off' || (mode === 'feed' && /^(allow|deny)$/.test(onStale) && isWithin(1, 3600)(maxStaleSec))
}
