import type { ClaimExpectations, Claims } from './claims.ts'
import type { PermissionManifest } from './define-permissions.ts'
import { type AuthError, invalidSettings } from './errors.ts'
import { createKeyring, type Keyring } from './keyring.ts'
import { openNodeKeys } from './node-platform.ts'
import { CLOCK_TOLERANCE_SECONDS, DEFAULT_ISSUER, MAX_TOKEN_BYTES, MIN_SECRET_CHARACTERS } from './protocol.ts'
import { createWarn, type Logger, type Warn } from './write-warnings.ts'

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
  /** It is not; told once for each reason (`HTTP 401`, `ECONNREFUSED`, `X-App-Id …`, …) until it is again. */
  | { readonly type: 'revocation.disconnected'; readonly reason: string; readonly retryInMs: number }
  /** An event was of a kind that this version does not know, and was skipped; `count` of them so far. */
  | { readonly type: 'revocation.skipped'; readonly count: number }
  /** It has not been followed for more than `maxStaleSec`; told once. `null` when it never was. */
  | { readonly type: 'revocation.stale'; readonly ageSec: number | null }
  /** The service has the permissions of the manifest. */
  | ({ readonly type: 'registration.registered' } & RegistrationCounts)
  /** It could not be told them now, and will be; once for each reason. */
  | { readonly type: 'registration.delayed'; readonly reason: string; readonly retryInMs: number }
  /** It refused them, or `require` ran out of time: nothing more is tried. `error` is what `ready` rejects with. */
  | { readonly type: 'registration.rejected'; readonly error: AuthError }

/** How many permissions a registration has inserted, given another name, taken away and left as they were. */
export interface RegistrationCounts {
  readonly created: number
  readonly updated: number
  readonly pruned: number
  readonly unchanged: number
}

/** The platform's own `fetch`, in whatever types the app has of it. */
export type Fetch = typeof globalThis extends { fetch: infer Known } ? Known : (url: string, init: object) => Promise<unknown>

/** An option that is left out is read from the environment variable in brackets, where there is one. */
export interface AuthOptions<Name extends string = string> {
  /** The address of the service, with or without `/api/v1`; whatever calls the service needs it [`SERVICE_AUTH_URL`]. */
  readonly authUrl?: string
  /** The code of this app: tokens of any other app are refused [`SERVICE_APP_CODE`]. */
  readonly appCode?: string
  /**
   * The id of this app [`SERVICE_APP_ID`]. When it is left out, the first one that the revocation feed names is required from then on;
   * until it is known, a token needs some `app_id`.
   */
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
  /** A longer token is refused unread (default 16384). */
  readonly maxTokenBytes?: number
  /**
   * How many verified tokens are remembered, so that one that comes again is not verified anew (default 0, at most 1,000,000).
   * Its times and its revocation are checked each time. A token and what it says take about 3 kB.
   */
  readonly cacheTokens?: number
  /** From `definePermissions`; it types the names that a principal is asked for, and is what `registerPermissions` registers. */
  readonly permissions?: PermissionManifest<Name>
  readonly revocation?: RevocationOptions
  /** The token of a service account (`gsa_…`); `registerPermissions` and `api.registerOrReturn` need it [`SERVICE_ACCOUNT_TOKEN`]. */
  readonly serviceToken?: string
  /** How the service is called (default the global `fetch`). */
  readonly fetch?: Fetch
  /**
   * Whether `auth.check()` runs once at the start: `warn` writes what it finds, `exit` also ends the process with 1 [`warn` on Node where
   * a service is named, `off` elsewhere and in tests].
   */
  readonly check?: 'exit' | 'warn' | 'off'
  /**
   * With `true` nothing is read, checked or begun before the first use, for programs that are loaded where they do not run, such as
   * `next build`. A fault in the configuration then is thrown by that use (default false).
   */
  readonly lazy?: boolean
  /**
   * Takes the lines that say what is wrong: one for each cause, then a count each minute; never a token or a secret. `false` silences
   * them (default `console`).
   */
  readonly logger?: Logger | false
  /** Is told what happens in the background; what it throws is ignored. */
  readonly onEvent?: (event: AuthEvent) => void
  /** The clock, in milliseconds since 1970 (default `Date.now`); tests move time with it. */
  readonly now?: () => number
}

export interface Config extends ClaimExpectations {
  /** Learned from the feed, unless the app was told. */
  appId: string | undefined
  /** With `/api/v1`; undefined when no service is named. */
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
  /** Tells the app, until it closes. What it throws then, now or later, is not for us. */
  readonly tell: (event: AuthEvent) => void
  /** Writes what is wrong to the log of the app. */
  readonly warn: Warn
  readonly check: 'exit' | 'warn' | 'off'
  /** Once OpenTelemetry was found. */
  count?: (event: AuthEvent) => void
  /** Ends what runs in the background. */
  readonly closing: AbortController
}

/** What is wrong with a value, to stand behind its name; undefined when nothing is. It quotes no value, for some are secrets. */
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
// A blank at either end is the usual slip of an env file, and would refuse every token.
export const word = must((value) => typeof value === 'string' && /^\S+$/.test(value), 'text without blanks')
export const httpUrl = must(
  // `fetch` takes no address with a password in it, and it would stand in the log.
  (value) => typeof value === 'string' && /^https?:[^@]+$/.test(value) && URL.canParse(value),
  'an http(s) URL without @',
)
const secret: Rule = (value) => {
  if (typeof value !== 'string') return ' must be text'
  if (value.length < MIN_SECRET_CHARACTERS) return ` must have ${MIN_SECRET_CHARACTERS} characters or more, has ${value.length}`
  return undefined
}

/** A variable that is set to nothing counts as not set, as env files have it. */
export function readVariable(name: string): string | undefined {
  return globalThis.process?.env?.[name] || undefined
}

/** Where the API of the service begins, whichever way its address was given. */
export function apiUrlOf(authUrl: string): string {
  return authUrl.replace(/(\/api\/v1)?\/*$/, '/api/v1')
}

/**
 * Reads options and environment. All faults go into one `CONFIG_INVALID`, which names each variable, says what is wrong with it, and
 * quotes no value.
 */
export function readConfig(options: AuthOptions, openNow: typeof openNodeKeys = openNodeKeys): Config {
  const faults: string[] = []
  const known: string[] = ['secret', 'lazy']
  const judge = (name: string, rule: Rule, value: unknown, isNeeded = false) => {
    const fault = value === undefined ? isNeeded && ' is missing' : rule(value)
    if (fault) faults.push(name + fault)
  }
  const read = <Name extends keyof AuthOptions>(
    name: Name,
    rule: Rule,
    variable = '',
    fallback?: AuthOptions[Name],
    isNeeded?: boolean,
  ) => {
    known.push(name)
    const value = options[name] ?? readVariable(variable) ?? fallback
    judge(variable || name, rule, value, isNeeded)
    return value as NonNullable<AuthOptions[Name]>
  }
  const refuseOthers = (given: object, names: readonly string[], prefix = '') =>
    faults.push(...Object.keys(given).flatMap((name) => (names.includes(name) ? [] : `${prefix}${name} is no option`)))

  const appCode = read('appCode', word, 'SERVICE_APP_CODE', undefined, true)
  const authUrl = options.authUrl ?? readVariable('SERVICE_AUTH_URL')
  const onNode = authUrl && runsOnNode()
  const revocation = read('revocation', record, '', { mode: onNode ? 'feed' : 'off' })
  const { mode, isCurrent, onStale, maxStaleSec }: Record<string, unknown> = { ...revocation }
  judge('revocation.mode', oneOf('feed', 'custom', 'off'), mode, true)
  judge('revocation.onStale', oneOf('allow', 'deny'), onStale)
  judge('revocation.maxStaleSec', number(1, 3600), maxStaleSec)
  if (mode === 'custom') judge('revocation.isCurrent', callable, isCurrent, true)
  if (isObject(revocation)) refuseOthers(revocation, ['mode', 'isCurrent', 'onStale', 'maxStaleSec'], 'revocation.')
  const isTest = readVariable('NODE_ENV') === 'test' || readVariable('NODE_TEST_CONTEXT')
  const check = read('check', oneOf('exit', 'warn', 'off'), '', onNode && !isTest ? 'warn' : 'off')
  // Tokens can be checked without any service. What asks one needs its address.
  read('authUrl', httpUrl, 'SERVICE_AUTH_URL', undefined, mode === 'feed' || check !== 'off')
  // A secret from code is never paired with a previous one that happens to be in the environment.
  const given = options.secret ?? [readVariable('JWT_ACCESS_SECRET'), readVariable('JWT_ACCESS_SECRET_PREVIOUS')]
  const [current, previous, ...more] = [given].flat()
  judge('JWT_ACCESS_SECRET', more.length > 0 ? () => ' must be one secret or two' : secret, current, true)
  judge('JWT_ACCESS_SECRET_PREVIOUS', secret, previous)

  const closing = new AbortController()
  const now = read('now', callable, '', Date.now)
  const logger = read(
    'logger',
    must((value) => value === false || isFunction(Object(value).warn), 'false, or have warn(line)'),
  )
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
  return Object.assign(config, { keyring: createKeyring(config, openNow(config)) })
}

/** Not where Node is imitated: Bun, Deno, Workers and jsdom say what they are. */
function runsOnNode(): boolean {
  return globalThis.process !== undefined && /^Node|^$/.test(globalThis.navigator?.userAgent ?? '')
}
