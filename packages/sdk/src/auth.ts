import { unreachable } from './call-service.ts'
import type { ServiceCheck } from './check-service.ts'
import type { Claims } from './claims.ts'
import { type AuthOptions, type Config, readConfig } from './config.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { partsOf } from './hidden-calls.ts'
import type { Principal } from './principal.ts'
import type { Registration, RegistrationOptions, RegistrationProgress } from './register-permissions.ts'
import { followRevocations, type RevocationFeed } from './revocation-feed.ts'
import type { ServiceApi } from './service-api.ts'
import type { OpenTelemetry } from './telemetry.ts'
import type { UserChangeHandler, UserChangeOptions } from './user-changes.ts'
import { createVerifier, MISSING_HINT, UNSCHEMED, type Verify } from './verify-token.ts'

/** The result of `safeVerify`: the principal, or the `AuthError` that `verify` would have thrown. */
export type VerifyResult<Name extends string = string> =
  | { readonly ok: true; readonly principal: Principal<Name>; readonly error?: undefined }
  | { readonly ok: false; readonly error: AuthError; readonly principal?: undefined }

/** Node's `req.headers`, a plain object, or a `Headers`. */
export type RequestHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null }

/** The state of the background work, as `auth.health()` returns it. */
export interface Health {
  /** State of the permission registration: `off` before it starts and after it was aborted, `rejected` if it failed for good. */
  readonly registration: 'off' | 'pending' | 'registered' | 'rejected'
  readonly revocation: {
    readonly mode: 'feed' | 'off' | 'custom'
    /** Whether the feed is being followed, by stream or by polling. */
    readonly connected: boolean
    /** Seconds since the feed was last complete. Null before the first read, and if there is no feed. */
    readonly ageSec: number | null
  }
  /** The key ids of the accepted secrets, the current one first. Empty until their first use where Node's crypto is missing. */
  readonly kids: string[]
}

/** The verifier of one app, made by `createAuth`. You can call each function without the object. */
export interface Auth<Name extends string = string> {
  /** Verifies an access token and resolves to its principal. Throws an `AuthError` whose `code` names the fault. */
  verify(token: string): Promise<Principal<Name>>
  /** Like `verify`, but synchronous. Throws `CONFIG_INVALID` without Node's crypto or if `isCurrent` returns a promise. */
  verifySync(token: string): Principal<Name>
  /** Like `verify`, but throws no `AuthError`: resolves to `{ ok: true, principal }` or `{ ok: false, error }`. */
  safeVerify(token: string): Promise<VerifyResult<Name>>
  /** Verifies the bearer token of the `Authorization` header. Throws like `verify`; `TOKEN_MISSING` without one. */
  authenticate(headers: RequestHeaders): Promise<Principal<Name>>
  /**
   * Registers the permissions of the manifest with the service. Call it at every boot and either await the result,
   * `await auth.registerPermissions().ready`, or ignore it. It does not throw: a failure rejects `ready`. Needs the options
   * `permissions` and `serviceToken`.
   */
  registerPermissions(options?: RegistrationOptions): Registration
  /**
   * Resolves when the first revocations have been read, or at once if no feed is followed. Await it before you listen, so that
   * tokens revoked before the start are refused. While the service is down, it waits, says so in the log and keeps the process
   * alive. Rejects if `close` is called first.
   */
  readonly ready: Promise<void>
  /**
   * Like `ready`, but waits for that many seconds at most. Resolves to whether the first revocations have been read: if not, tokens
   * revoked before the start are accepted until they have, unless `onStale` is `deny`.
   */
  readyWithin(seconds: number): Promise<boolean>
  /** Asks the service once whether the settings of this backend fit it, and resolves to what does not. Does not throw. */
  check(): Promise<ServiceCheck>
  /** Calls to the service that a backend makes: token introspection and user registration. */
  readonly api: ServiceApi
  /**
   * Calls `handler` with each change of a user of this app, one at a time and at least once, so that the app can keep a table of
   * its users right (docs/guard-a-backend/user-changes.md). If the handler throws, the changes since the last cursor come again
   * later. Needs the app's own key; what prevents reading is in the log. Does not keep the process alive. Returns a function that
   * stops it, as `close` does.
   *
   * @example
   * const stop = auth.onUserChange(
   *   async (change) => {
   *     if (change.type === 'reset') await compareAllUsers()
   *     else if (change.type === 'user_deleted') await users.remove(change.user_id)
   *     else if (change.type === 'grant_ended') await users.close(change.user_id)
   *     else if (change.email !== null) await users.update(change.user_id, change)
   *   },
   *   { since: await cursors.load(), onCursor: (cursor) => cursors.save(cursor) },
   * )
   */
  onUserChange(handler: UserChangeHandler, options?: UserChangeOptions): () => void
  /** Returns the state of the background work. Makes no request. */
  health(): Health
  /** Stops the background work. You can still verify tokens. */
  close(): Promise<void>
}

/**
 * Creates the verifier of one app. Options that you leave out are read from the environment. Throws `CONFIG_INVALID`, naming
 * every variable that is wrong; with `lazy`, the first use throws it.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 *
 * const auth = createAuth() // reads SERVICE_AUTH_URL, JWT_ACCESS_SECRET and SERVICE_APP_CODE
 * const principal = await auth.verify(token)
 * principal.has('invoices:read')
 * ```
 */
export function createAuth<Name extends string = string>(options: AuthOptions<Name> = {}): Auth<Name> {
  const make = () => assembleAuth(readConfig(options))
  // The permission names exist in types only.
  return (options.lazy ? assembleLater(make) : make()) as unknown as Auth<Name>
}

/** Returns an object of functions. Each can be called without the object, and printing the object shows no secrets. */
export function assembleAuth(config: Config): LocalAuth {
  const { revocation, closing, keyring } = config
  const feed = revocation.mode === 'feed' ? followRevocations(config, revocation) : undefined
  let check = createCheck(config, feed)
  // No `await` here: it would cost a tenth of the verification.
  const verify = async (token: unknown) => check(token)
  let registration: RegistrationProgress | undefined

  // OpenTelemetry registers itself under this symbol, for all copies of its API. Without it, the telemetry module is not loaded.
  const telemetry = (globalThis as Record<symbol, OpenTelemetry | undefined>)[Symbol.for('opentelemetry.js.api.1')]
  if (telemetry?.trace || telemetry?.metrics)
    import('./telemetry.ts').then((module) => {
      check = module.observe(config, check, telemetry)
    }, ignore)
  // Most apps need little of these two, or nothing.
  const serviceApi = () => import('./service-api.ts')
  const serviceCheck = () => import('./check-service.ts')
  const started = feed || config.check !== 'off' ? serviceCheck().then((module) => module.checkAtStart(config)) : undefined
  started?.catch(ignore)
  return {
    verify,
    verifySync(token) {
      const principal = check(token)
      if (!(principal instanceof Promise)) return principal
      // The caller never gets this promise, so a rejection would end the process.
      principal.catch(ignore)
      throw configInvalid('verifySync needs Node, and no promise from isCurrent')
    },
    safeVerify: (token) => resultOf(verify(token)),
    authenticate: async (headers) => verify(readBearer(headers)),
    registerPermissions(options = {}) {
      const progress: RegistrationProgress = { state: 'pending', isAwaited: false }
      registration = progress
      const ready = serviceApi().then((module) => module.register(config, options, progress))
      // The caller may ignore a failure, except with `require`.
      if (options.mode !== 'require') ready.catch(ignore)
      return {
        get ready() {
          progress.isAwaited = true
          progress.wait?.ref?.()
          return ready
        },
      }
    },
    get ready() {
      const ready = (async () => void (await feed?.wait()))()
      ready.catch(ignore)
      return ready
    },
    async readyWithin(seconds) {
      if (!(seconds >= 0 && seconds <= LONGEST_WAIT_SEC))
        throw configInvalid(`readyWithin needs 0 to ${LONGEST_WAIT_SEC} seconds`)
      return feed ? feed.wait(seconds * 1000).catch(() => false) : true
    },
    check: async () => (await serviceCheck()).checkService(config),
    [partsOf]: () => ({ config, started }),
    api: {
      introspect: async (token) => (await serviceApi()).introspect(config, token),
      registerOrReturn: async (user) => (await serviceApi()).registerOrReturn(config, user),
    },
    onUserChange(handler, options) {
      const stopping = new AbortController()
      serviceApi().then((module) => module.onUserChange(config, stopping, handler, options), ignore)
      return () => stopping.abort()
    },
    health: () => ({
      registration: registration?.state ?? 'off',
      revocation: { mode: revocation.mode, connected: false, ageSec: null, ...feed?.health() },
      kids: keyring.opened?.keys.map(({ kid }) => kid) ?? [],
    }),
    async close() {
      closing.abort(unreachable('auth.close()'))
    },
  }
}

/** Verifies a token, and logs why one is refused. */
function createCheck(config: Config, feed: RevocationFeed | undefined): Verify {
  const { revocation, warn } = config
  const verifyLocally = createVerifier(config, feed)
  const judge: Verify =
    revocation.mode === 'custom' ? (token) => askApp(revocation.isCurrent, verifyLocally(token)) : verifyLocally
  const refuse = (error: unknown): never => {
    if (AuthError.is(error) && error.hint !== MISSING_HINT) warn(error.code, `a token is refused, ${error.code}: ${error.hint}`)
    throw error
  }
  return (token) => {
    try {
      const principal = judge(token)
      return principal instanceof Promise ? principal.catch(refuse) : principal
    } catch (error) {
      return refuse(error)
    }
  }
}

async function resultOf(verification: Promise<Principal>): Promise<VerifyResult> {
  try {
    return { ok: true, principal: await verification }
  } catch (error) {
    if (!AuthError.is(error)) throw error
    return { ok: false, error }
  }
}

const ignore = () => {}
/** A day. */
const LONGEST_WAIT_SEC = 86_400

/** Reads no option before the first use. */
function assembleLater(make: () => LocalAuth): LocalAuth {
  let made: LocalAuth | undefined
  const use = () => (made ??= make())
  return new Proxy({} as LocalAuth, {
    get(_, name: keyof LocalAuth | 'then') {
      // The object is not a promise, though async functions return it. Guards ask for `partsOf` again with each request.
      if (name === 'then' || (name === partsOf && !made)) return undefined
      if (name === 'api' || name === 'ready') return use()[name]
      if (name === 'close' && !made) return async () => {}
      return (...given: unknown[]) => (use()[name] as (...given: unknown[]) => unknown)(...given)
    },
  })
}

/** Tokens come from outside, so they may be of any type. */
export interface LocalAuth extends Omit<Auth, 'verify' | 'verifySync' | 'safeVerify'> {
  /** A guard that asks for permissions calls what `started` resolves to, so that `auth` can warn if every token carries them. */
  [partsOf](): { readonly config: Config; readonly started: Promise<() => void> | undefined }
  verify(token: unknown): Promise<Principal>
  verifySync(token: unknown): Principal
  safeVerify(token: unknown): Promise<VerifyResult>
}

/**
 * Returns the principal if the app's `isCurrent` accepts it. An error of `isCurrent` is not kept as a cause, since it may quote
 * claims.
 */
function askApp(isCurrent: (claims: Claims) => unknown, principal: Principal | Promise<Principal>): ReturnType<Verify> {
  if (principal instanceof Promise) return principal.then((each) => askApp(isCurrent, each))
  const cannotTell = () => {
    throw refused('REVOCATION_UNAVAILABLE', 'revocation.isCurrent threw')
  }
  const judge = (answer: unknown) => {
    if (answer !== true) throw refused('TOKEN_REVOKED', 'revocation.isCurrent did not return true')
    return principal
  }
  let answer: unknown
  try {
    answer = isCurrent(principal.claims)
  } catch {
    cannotTell()
  }
  return answer instanceof Promise ? answer.then(judge, cannotTell) : judge(answer)
}

/** Returns the bearer token (RFC 6750 section 2.1), `UNSCHEMED`, or undefined if the caller sent none. */
function readBearer(headers: RequestHeaders): string | typeof UNSCHEMED | undefined {
  const { authorization, Authorization } = headers as Exclude<RequestHeaders, { get(name: string): unknown }>
  const value = typeof headers.get === 'function' ? headers.get('authorization') : (authorization ?? Authorization)
  // Two headers are joined by a comma, which no token contains, so they are refused.
  const text = String(value ?? '').trim()
  // Other schemes, such as Basic, may be meant for somebody else.
  return /^bearer +(.*)$/is.exec(text)?.[1] ?? (/^([\w-]+ +)?[\w-]+\.[\w-]+\.[\w-]*$/.test(text) ? UNSCHEMED : undefined)
}
