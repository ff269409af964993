import { unreachable } from './call-service.ts'
import type { ServiceCheck } from './check-service.ts'
import type { Claims } from './claims.ts'
import { type AuthOptions, type Config, readConfig } from './config.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { asksPermissions } from './permission-scope.ts'
import type { Principal, TokenPrincipal } from './principal.ts'
import {
  type Registration,
  type RegistrationOptions,
  type RunningRegistration,
  startRegistration,
} from './register-permissions.ts'
import { followRevocations } from './revocation-feed.ts'
import type { ServiceApi } from './service-api.ts'
import { createVerifier, type Verify } from './verify-token.ts'

export type VerifyResult<Name extends string = string> =
  | { readonly ok: true; readonly principal: Principal<Name>; readonly error?: undefined }
  | { readonly ok: false; readonly error: AuthError; readonly principal?: undefined }

/** Node's `req.headers`, a plain object, or a `Headers`. */
export type RequestHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null }

export interface Health {
  /** State of the permission registration: `off` before it begins and when it was ended early, `rejected` if it failed for good. */
  readonly registration: 'off' | 'pending' | 'registered' | 'rejected'
  readonly revocation: {
    readonly mode: 'feed' | 'off' | 'custom'
    /** Whether the feed is being followed now. */
    readonly connected: boolean
    /** How many seconds ago the feed was complete. Null before the first read. */
    readonly ageSec: number | null
  }
  /** The ids of the accepted secrets, the current one first; through WebCrypto they are known from the first token on. */
  readonly kids: string[]
}

export interface Auth<Name extends string = string> {
  /** Verifies a token. Throws `AuthError`, which names the fault. */
  verify(token: string): Promise<Principal<Name>>
  /** `verify` without a promise, on Node; `CONFIG_INVALID` elsewhere. */
  verifySync(token: string): Principal<Name>
  /** Like `verify`, but returns the error. */
  safeVerify(token: string): Promise<VerifyResult<Name>>
  /** Verifies the bearer token of `Authorization`. Throws `TOKEN_MISSING` without one. */
  authenticate(headers: RequestHeaders): Promise<Principal<Name>>
  /**
   * Tells the service the permissions of the manifest, at every boot: `await auth.registerPermissions().ready`, or fire and forget.
   * Never throws; needs `permissions` and a `serviceToken`.
   */
  registerPermissions(options?: RegistrationOptions): Registration
  /**
   * Resolves when the first revocations are in, at once where no feed is followed: wait for it before you listen, and no token that was
   * revoked before the start passes. While the service is away it waits; it keeps the process alive, and rejects on `close`.
   */
  readonly ready: Promise<void>
  /** Asks the service once what it takes this backend for, and tells what does not fit. Does not throw. */
  check(): Promise<ServiceCheck>
  /** Calls of a backend to the service. */
  readonly api: ServiceApi
  health(): Health
  /** Ends the background work. Tokens can still be verified. */
  close(): Promise<void>
}

/**
 * Makes the verifier of one app. What the options leave out is read from the environment.
 * Throws `CONFIG_INVALID` at once, naming every variable that is wrong; with `lazy`, at the first use.
 */
export function createAuth<Name extends string = string>(options: AuthOptions<Name> = {}): Auth<Name> {
  const make = () => assembleAuth(readConfig(options))
  // The permission names exist in types only.
  return (options.lazy ? assembleLater(make) : make()) as unknown as Auth<Name>
}

/** An object of functions. Each works on its own, and printing the object shows no secrets. */
export function assembleAuth(config: Config): LocalAuth {
  const { revocation, closing, keyring, warn } = config
  const feed = revocation.mode === 'feed' ? followRevocations(config, revocation) : undefined
  const verifyLocally = createVerifier(config, feed)
  const judge: Verify =
    revocation.mode === 'custom' ? (token) => askApp(revocation.isCurrent, verifyLocally(token)) : verifyLocally
  const refuse = (error: unknown): never => {
    // A request without a token is no sign of a fault.
    if (AuthError.is(error) && error.code !== 'TOKEN_MISSING')
      warn(error.code, `a token is refused, ${error.code}: ${error.hint}`)
    throw error
  }
  let check: Verify = (token) => {
    try {
      const principal = judge(token)
      return principal instanceof Promise ? principal.catch(refuse) : principal
    } catch (error) {
      return refuse(error)
    }
  }
  // Awaits only promises: an await costs a tenth of the verification.
  const verify = async (token: unknown) => check(token)
  let registration: RunningRegistration | undefined

  // OpenTelemetry announces itself so, to all copies of its API: without it, nothing of this is loaded.
  const { trace, metrics } = Object((globalThis as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')])
  if (trace || metrics)
    import('./telemetry.ts').then(({ observe }) => {
      check = observe(config, check, { trace, metrics })
    }, ignore)
  // Most apps never call these two.
  const serviceApi = () => import('./service-api.ts')
  const serviceCheck = () => import('./check-service.ts')
  const started = feed || config.check !== 'off' ? serviceCheck().then((module) => module.checkAtStart(config)) : undefined
  started?.catch(ignore)
  return {
    verify,
    verifySync(token) {
      const principal = check(token)
      if (!(principal instanceof Promise)) return principal
      // Nobody may await it, and its failure must not end the process.
      principal.catch(ignore)
      throw configInvalid('verifySync needs Node, and no promise from revocation.isCurrent')
    },
    async safeVerify(token) {
      try {
        return { ok: true, principal: await verify(token) }
      } catch (error) {
        if (!AuthError.is(error)) throw error
        return { ok: false, error }
      }
    },
    authenticate: async (headers) => verify(readBearer(headers)),
    registerPermissions(options) {
      registration = startRegistration(config, options)
      return registration
    },
    get ready() {
      if (!feed) return Promise.resolve()
      // The feed itself keeps no process alive.
      const held = setInterval(ignore, 60_000)
      const ready = feed.ready.finally(() => clearInterval(held))
      ready.catch(ignore)
      return ready
    },
    check: async () => (await serviceCheck()).checkService(config),
    [asksPermissions]() {
      started?.then((warnOfScope) => warnOfScope(), ignore)
    },
    api: {
      introspect: async (token) => (await serviceApi()).introspect(config, token),
      registerOrReturn: async (user) => (await serviceApi()).registerOrReturn(config, user),
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

const ignore = () => {}

/** Reads no option before the first use. */
function assembleLater(make: () => LocalAuth): LocalAuth {
  let made: LocalAuth | undefined
  const use = () => (made ??= make())
  return new Proxy({} as LocalAuth, {
    get(_, name: keyof LocalAuth | 'then') {
      // It is no promise, though it is returned from async functions. Guards ask again with each request.
      if (name === 'then' || (name === asksPermissions && !made)) return undefined
      if (name === 'api' || name === 'ready') return use()[name]
      if (name === 'close' && !made) return async () => {}
      return (...given: unknown[]) => (use()[name] as (...given: unknown[]) => unknown)(...given)
    },
  })
}

/** Tokens come from outside, so they may be of any type. */
export interface LocalAuth extends Omit<Auth, 'verify' | 'verifySync' | 'safeVerify'> {
  [asksPermissions](): void
  verify(token: unknown): Promise<Principal>
  verifySync(token: unknown): Principal
  safeVerify(token: unknown): Promise<VerifyResult>
}

/** The principal, if the app's `isCurrent` accepts it. An error of the app is not kept as a cause, since it may quote claims. */
function askApp(isCurrent: (claims: Claims) => unknown, principal: TokenPrincipal | Promise<TokenPrincipal>): ReturnType<Verify> {
  if (principal instanceof Promise) return principal.then((each) => askApp(isCurrent, each))
  const cannotTell = () => {
    throw refused('REVOCATION_UNAVAILABLE', 'revocation.isCurrent threw')
  }
  const judge = (answer: unknown) => {
    if (answer !== true) throw refused('TOKEN_REVOKED', 'revocation.isCurrent did not answer true')
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

/** RFC 6750 section 2.1; undefined when the caller sent no bearer token. */
function readBearer(headers: RequestHeaders): string | undefined {
  const { authorization, Authorization } = headers as Exclude<RequestHeaders, { get(name: string): unknown }>
  const value = typeof headers.get === 'function' ? headers.get('authorization') : (authorization ?? Authorization)
  // Two headers are joined by a comma, which no token contains, so they are refused.
  return /^bearer +(.*)$/is.exec(String(value ?? '').trim())?.[1]
}
