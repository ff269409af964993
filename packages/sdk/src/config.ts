import type { ClaimExpectations, Claims } from './claims.ts'
import type { PermissionManifest } from './define-permissions.ts'
import { type AuthError, invalidSettings } from './errors.ts'
import { createKeyring, type Keyring } from './keyring.ts'
import { openNodeKeys } from './node-platform.ts'
import { CLOCK_TOLERANCE_SECONDS, DEFAULT_ISSUER, MAX_TOKEN_BYTES, MIN_SECRET_CHARACTERS } from './protocol.ts'
import { createWarn, type Logger, type Warn } from './write-warnings.ts'

/** How to follow the revocations of the service. The value in brackets is the default. */
export interface FeedOptions {
  readonly mode: 'feed'
  /**
   * What happens to tokens while the feed is older than `maxStaleSec` or has not been read yet: `allow` verifies them against the
   * revocations known so far, `deny` refuses them with `REVOCATION_UNAVAILABLE` [`allow`].
   */
  readonly onStale?: 'allow' | 'deny'
  /** The age in seconds above which the feed is stale, 1 to 3600 [60]. An open but quiet stream is not stale for 20 s. */
  readonly maxStaleSec?: number
}

/**
 * How `verify` finds out that a valid token has been revoked since it was issued (docs/guard-a-backend/revocation.md).
 *
 * - `feed` (default on Node): the service reports revocations within moments. Needs `authUrl`.
 * - `custom`: `isCurrent` decides, from your own store. Anything but `true` refuses the token with `TOKEN_REVOKED`; if it throws,
 *   the token is refused with `REVOCATION_UNAVAILABLE`. For `verifySync` it must not return a promise.
 * - `off` (default elsewhere): a token is valid until it expires.
 */
export type RevocationOptions =
  | FeedOptions
  | { readonly mode: 'off' }
  | { readonly mode: 'custom'; readonly isCurrent: (claims: Claims) => boolean | Promise<boolean> }

/** An event of the background work, passed to `onEvent`. `health()` returns the current state. */
export type AuthEvent =
  /** The feed is connected. `poll`: it polls every few seconds, because no stream has come through so far. */
  | { readonly type: 'revocation.connected'; readonly transport: 'stream' | 'poll' }
  /**
   * The feed is not connected. Sent once for each reason (`HTTP 401`, `ECONNREFUSED`, `X-App-Id …`, …) until it connects again.
   */
  | { readonly type: 'revocation.disconnected'; readonly reason: string; readonly retryInMs: number }
  /** An event of a kind that this version does not know was skipped. `count` is the number skipped so far. */
  | { readonly type: 'revocation.skipped'; readonly count: number }
  /**
   * The feed has been disconnected for more than `maxStaleSec`. Sent once until it connects again. `ageSec` is null if it was
   * never connected.
   */
  | { readonly type: 'revocation.stale'; readonly ageSec: number | null }
  /** The service has accepted the permissions of the manifest. */
  | ({ readonly type: 'registration.registered' } & RegistrationCounts)
  /** The registration failed for now and is tried again in `retryInMs`. Sent when the reason changes. */
  | { readonly type: 'registration.delayed'; readonly reason: string; readonly retryInMs: number }
  /** The registration failed for good: the service refused it, or `require` ran out of time. `ready` rejects with `error`. */
  | { readonly type: 'registration.rejected'; readonly error: AuthError }

/** How many permissions a registration created, renamed (`updated`), removed (`pruned`) and left unchanged. */
export interface RegistrationCounts {
  readonly created: number
  readonly updated: number
  readonly pruned: number
  readonly unchanged: number
}

/** The type of the platform's `fetch`, from the type library that the app uses. */
export type Fetch = typeof globalThis extends { fetch: infer Known } ? Known : (url: string, init: object) => Promise<unknown>

/**
 * The options of `createAuth`. An option that you leave out is read from the environment variable in brackets, if there is one.
 */
export interface AuthOptions<Name extends string = string> {
  /** The address of the service, with or without `/api/v1` [`SERVICE_AUTH_URL`]. Everything that calls the service needs it. */
  readonly authUrl?: string
  /** The code of this app, required [`SERVICE_APP_CODE`]. Tokens of any other app are refused. */
  readonly appCode?: string
  /**
   * The id of this app [`SERVICE_APP_ID`]. If you leave it out, the first id that the revocation feed names is required from then
   * on; until then, a token needs an `app_id`, but any will do.
   */
  readonly appId?: string
  /**
   * The secret shared with the service, at least 32 characters, or `[current, previous]` while it is being rotated
   * [`JWT_ACCESS_SECRET`, `JWT_ACCESS_SECRET_PREVIOUS`].
   */
  readonly secret?: string | readonly [current: string, previous: string]
  /** The required `iss` claim [`JWT_ISSUER`, default `gatehouse`]. */
  readonly issuer?: string
  /** How far the clocks of this machine and the service may differ, in seconds, 0 to 60 (default 5). */
  readonly clockToleranceSec?: number
  /**
   * The longest token accepted, in bytes, 256 to 65536 (default 16384). Longer tokens are refused unread, with `TOKEN_TOO_LARGE`.
   */
  readonly maxTokenBytes?: number
  /**
   * How many verified tokens to remember, so that a repeated token is not fully verified again (default 0, at most 1,000,000).
   * Its times and its revocation are still checked each time. A token with its claims takes about 3 kB.
   */
  readonly cacheTokens?: number
  /**
   * The manifest from `definePermissions`. `registerPermissions` registers it, and it types the permission names of principals
   * and guards.
   */
  readonly permissions?: PermissionManifest<Name>
  /**
   * How revoked tokens are recognized (default `feed` on Node, `off` elsewhere). On Node without `authUrl`, the default throws
   * `CONFIG_INVALID` if `NODE_ENV` is `production`; otherwise it logs that revoked tokens are accepted.
   */
  readonly revocation?: RevocationOptions
  /** The token of a service account (`gsa_…`), for `registerPermissions` and `api.registerOrReturn` [`SERVICE_ACCOUNT_TOKEN`]. */
  readonly serviceToken?: string
  /** The function that calls the service (default the global `fetch`). */
  readonly fetch?: Fetch
  /**
   * Whether `auth.check()` runs once at the start: `warn` logs the faults it finds, `exit` also ends the process with exit code 1
   * (default `warn` on Node with `authUrl`, `off` elsewhere and in tests).
   */
  readonly check?: 'exit' | 'warn' | 'off'
  /**
   * With `true`, nothing is read, checked or started before the first use (default false). Use it for programs that are loaded
   * where they do not run, such as during `next build`. The first use then throws any configuration error.
   */
  readonly lazy?: boolean
  /**
   * Receives the warnings: one line for each cause, then a count each minute; never a token or a secret. `false` silences them
   * (default `console`).
   */
  readonly logger?: Logger | false
  /** Called with each event of the background work. Errors it throws are ignored. */
  readonly onEvent?: (event: AuthEvent) => void
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

export interface Config extends ClaimExpectations {
  /** From the options, or else learned from the feed. */
  appId: string | undefined
  /** Ends with `/api/v1`. Undefined if no service is configured. */
  readonly authUrl: string | undefined
  /** One or two, the current one first. */
  readonly secrets: readonly string[]
  readonly keyring: Keyring
  readonly maxTokenBytes: number
  readonly cacheTokens: number
  readonly permissions: PermissionManifest | undefined
  readonly revocation: RevocationOptions
  readonly serviceToken: string | undefined
  fetch: Fetch
  /** Calls `onEvent` until `close`. Ignores its errors, thrown or rejected. */
  readonly tell: (event: AuthEvent) => void
  /** Writes a warning to the log of the app. */
  readonly warn: Warn
  readonly check: 'exit' | 'warn' | 'off'
  /** Set once OpenTelemetry is found. */
  count?: (event: AuthEvent) => void
  /** Aborted by `close`, which stops the background work. */
  readonly closing: AbortController
}

/**
 * Returns what is wrong with a value, as text to append to its name, or undefined. Never quotes the value, since some are
 * secrets.
 */
type Rule = (value: unknown) => string | undefined

const must =
  (holds: (value: unknown) => boolean, wanted: string): Rule =>
  (value) =>
    holds(value) ? undefined : ` must be ${wanted}`
const isObject = (value: unknown): value is object => typeof value === 'object'
const record = must(isObject, 'an object')
const number = (least: number, most: number) =>
  must((value) => typeof value === 'number' && value >= least && value <= most, `a number from ${least} to ${most}`)
const oneOf = (...words: unknown[]) => must((value) => words.includes(value), words.join(' or '))
const isFunction = (value: unknown) => typeof value === 'function'
const callable = must(isFunction, 'a function')
const canWarn = must((value) => value === false || isFunction(Object(value).warn), 'false, or have warn(line)')
// A blank at either end is a common mistake in env files, and would cause every token to be refused.
export const word = must((value) => typeof value === 'string' && /^\S+$/.test(value), 'text without white space')
export const httpUrl = must(
  // `fetch` refuses an address with a password, which would also appear in the log.
  (value) => typeof value === 'string' && /^https?:[^@]+$/.test(value) && URL.canParse(value),
  'https://… or http://…, without @',
)
const secret: Rule = (value) => {
  if (typeof value !== 'string') return ' must be text'
  if (value.length < MIN_SECRET_CHARACTERS) return ` must have ${MIN_SECRET_CHARACTERS} characters or more, has ${value.length}`
  return undefined
}

/** Reads an environment variable. An empty one counts as not set, as in env files. */
export function readVariable(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined
}

/** Says that a variable is missing, and which one was set in its place by mistake, if there is one. */
export function lacking(name: string): string {
  const typo = misspellingOf(name)
  return `${name} is missing${typo && `, but ${typo} is set`}`
}

/** Returns a `SERVICE_…` variable whose name differs from `name` in up to two letters, in any order, or an empty string. */
export function misspellingOf(name: string): string {
  // Other platforms may ask the user before they list the variables.
  const names = name.startsWith('SERVICE_') && runsOnNode() ? Object.keys(process.env) : []
  return names.find((given) => /^service_/i.test(given) && given !== name && readVariable(given) && isNear(given, name)) ?? ''
}

function isNear(given: string, name: string): boolean {
  let others = given.toUpperCase()
  for (const letter of name) others = others.replace(letter, '')
  // What `given` has too much, and with the lengths, what it lacks.
  return 2 * others.length + name.length - given.length < 3
}

/** Returns the base URL of the API, which ends with `/api/v1`, for an address with or without it. */
export function apiUrlOf(authUrl: string): string {
  return authUrl.replace(/(\/api\/v1)?\/*$/, '/api/v1')
}

type OptionName = keyof AuthOptions
type Option<Name extends OptionName> = AuthOptions[Name]

const UNFED = "revoked tokens are accepted until they expire; if you mean that, pass revocation: { mode: 'off' }"

/**
 * Reads options and environment. Throws one `CONFIG_INVALID` that names each wrong variable and what is wrong with it, but quotes
 * no value.
 */
export function readConfig(options: AuthOptions, openNow: typeof openNodeKeys = openNodeKeys): Config {
  const faults: string[] = []
  const known: string[] = ['secret', 'lazy']
  const judge = (name: string, rule: Rule, value: unknown, isNeeded = false) => {
    const fault = value === undefined ? isNeeded : rule(value)
    if (fault) faults.push(fault === true ? lacking(name) : name + fault)
  }
  const read = <Name extends OptionName>(name: Name, rule: Rule, variable = '', fallback?: Option<Name>, isNeeded?: boolean) => {
    known.push(name)
    const value = options[name] ?? readVariable(variable) ?? fallback
    judge(variable || name, rule, value, isNeeded)
    return value as NonNullable<Option<Name>>
  }
  const refuseOthers = (given: object, names: readonly string[], prefix = '') =>
    faults.push(...Object.keys(given).flatMap((name) => (names.includes(name) ? [] : `${prefix}${name} is not an option`)))

  const appCode = read('appCode', word, 'SERVICE_APP_CODE', undefined, true)
  const authUrl = options.authUrl ?? readVariable('SERVICE_AUTH_URL')
  const onNode = authUrl && runsOnNode()
  // On Node, an app that says nothing about revocation expects to follow it.
  const lacksFeed = authUrl === undefined && options.revocation === undefined && runsOnNode()
  const isRefused = lacksFeed && readVariable('NODE_ENV') === 'production'
  const revocation = read('revocation', record, '', { mode: onNode ? 'feed' : 'off' })
  const { mode, isCurrent, onStale, maxStaleSec }: Record<string, unknown> = { ...revocation }
  judge('revocation.mode', oneOf('feed', 'custom', 'off'), mode, true)
  judge('revocation.onStale', oneOf('allow', 'deny'), onStale)
  judge('revocation.maxStaleSec', number(1, 3600), maxStaleSec)
  if (mode === 'custom') judge('revocation.isCurrent', callable, isCurrent, true)
  if (isObject(revocation)) refuseOthers(revocation, ['mode', 'isCurrent', 'onStale', 'maxStaleSec'], 'revocation.')
  const isTest = readVariable('NODE_ENV') === 'test' || readVariable('NODE_TEST_CONTEXT')
  const check = read('check', oneOf('exit', 'warn', 'off'), '', onNode && !isTest ? 'warn' : 'off')
  const unfed = `${lacking('SERVICE_AUTH_URL')}: ${UNFED}`
  if (isRefused) faults.push(unfed)
  // Verifying tokens needs no service. The feed and the check do.
  read('authUrl', httpUrl, 'SERVICE_AUTH_URL', undefined, !isRefused && (mode === 'feed' || check !== 'off'))
  // A secret from code is never paired with a previous one that happens to be in the environment.
  const given = options.secret ?? [readVariable('JWT_ACCESS_SECRET'), readVariable('JWT_ACCESS_SECRET_PREVIOUS')]
  const [current, previous, ...more] = [given].flat()
  judge('JWT_ACCESS_SECRET', more.length > 0 ? () => ' must be one secret or two' : secret, current, true)
  judge('JWT_ACCESS_SECRET_PREVIOUS', secret, previous)
  // Nothing is set, as in a module that Nest loads before its `ConfigModule` reads the file.
  if (!appCode && !current) faults.push('.env is not read yet: pass lazy: true, or node --env-file=.env')

  const closing = new AbortController()
  const now = read('now', callable, '', Date.now)
  const logger = read('logger', canWarn)
  const onEvent = read('onEvent', callable)
  const config: Omit<Config, 'keyring'> = {
    appCode,
    appId: read('appId', word, 'SERVICE_APP_ID'),
    issuer: read('issuer', word, 'JWT_ISSUER', DEFAULT_ISSUER),
    serviceToken: read('serviceToken', word, 'SERVICE_ACCOUNT_TOKEN'),
    authUrl: authUrl && apiUrlOf(`${authUrl}`),
    secrets: (previous === undefined ? [current] : [current, previous]) as string[],
    clockToleranceSec: read('clockToleranceSec', number(0, 60), '', CLOCK_TOLERANCE_SECONDS),
    maxTokenBytes: read('maxTokenBytes', number(256, 65_536), '', MAX_TOKEN_BYTES),
    cacheTokens: read('cacheTokens', number(0, 1_000_000), '', 0),
    revocation,
    check,
    permissions: read('permissions', record),
    fetch: read('fetch', callable, '', globalThis.fetch),
    now,
    tell(event: AuthEvent) {
      if (closing.signal.aborted) return
      config.count?.(event)
      void (async () => onEvent?.(event))().catch(() => {})
    },
    warn: createWarn(logger ?? console, now),
    closing,
  }
  refuseOthers(options, known)
  if (faults.length > 0) throw invalidSettings(...faults)
  if (lacksFeed) config.warn('SERVICE_AUTH_URL', unfed)
  return Object.assign(config, { keyring: createKeyring(config, openNow(config)) })
}

/** False where Node is imitated: Bun, Deno, Workers and jsdom name themselves in the user agent. */
function runsOnNode(): boolean {
  return globalThis.process !== undefined && /^Node|^$/.test(globalThis.navigator?.userAgent ?? '')
}
