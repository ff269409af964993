import { unreachable } from './call-service.ts'
import type { Claims } from './claims.ts'
import { type AuthOptions, type Config, readConfig } from './config.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { nodePlatform } from './node-platform.ts'
import type { Principal } from './principal.ts'
import {
  type Registration,
  type RegistrationOptions,
  type RunningRegistration,
  startRegistration,
} from './register-permissions.ts'
import { followRevocations, type RevocationFeed } from './revocation-feed.ts'
import type { ServiceApi } from './service-api.ts'
import { createVerifier, type Verifier } from './verify-token.ts'

export type VerifyResult<Name extends string = string> =
  | { readonly ok: true; readonly principal: Principal<Name> }
  | { readonly ok: false; readonly error: AuthError }

/** Node's `req.headers`, a plain object, or a `Headers`. */
export type RequestHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null }

export interface Health {
  /** Of the permissions: `off` before it is begun and when it was ended early, `rejected` when it has failed for good. */
  readonly registration: 'off' | 'pending' | 'registered' | 'rejected'
  readonly revocation: {
    readonly mode: 'feed' | 'off' | 'custom'
    /** Whether the feed is being followed now. */
    readonly connected: boolean
    /** How many seconds ago nothing was missing from it; null before it was read for the first time. */
    readonly ageSec: number | null
  }
  /** The ids of the accepted secrets, the current one first; through WebCrypto they are known from the first token on. */
  readonly kids: string[]
}

export interface Auth<Name extends string = string> {
  /** Throws `AuthError`: what is wrong with the token. */
  verify(token: string): Promise<Principal<Name>>
  /** `verify` without a promise, on Node; `CONFIG_INVALID` elsewhere. */
  verifySync(token: string): Principal<Name>
  /** `verify` without a throw. */
  safeVerify(token: string): Promise<VerifyResult<Name>>
  /** Verifies the bearer token of `Authorization`; `TOKEN_MISSING` when there is none. */
  authenticate(headers: RequestHeaders): Promise<Principal<Name>>
  /**
   * Tells the service the permissions of the manifest, at every boot: `await auth.registerPermissions().ready`, or fire and forget.
   * Never throws; needs `permissions` and a `serviceToken`.
   */
  registerPermissions(options?: RegistrationOptions): Registration
  /** What a backend asks the service. */
  readonly api: ServiceApi
  health(): Health
  /** Ends what runs in the background; tokens can still be verified. */
  close(): Promise<void>
}

/**
 * Makes the verifier of one app. What the options leave out is read from the environment.
 * Throws `CONFIG_INVALID` at once, naming every variable that is wrong.
 */
export function createAuth<Name extends string = string>(options: AuthOptions<Name> = {}): Auth<Name> {
  const config = readConfig(options)
  const { revocation } = config
  const feed = revocation.mode === 'feed' ? followRevocations(config, revocation) : undefined
  // The names are a matter of types alone.
  return assembleAuth(config, createVerifier(config, nodePlatform(), feed), feed) as unknown as Auth<Name>
}

/** An object of functions: they can be handed on alone, and printing it shows no secret. */
export function assembleAuth(config: Config, verifier: Verifier, feed?: RevocationFeed): LocalAuth {
  const { revocation, closing } = config
  const isCurrent = revocation.mode === 'custom' ? revocation.isCurrent : undefined
  let registration: RunningRegistration | undefined

  // Most apps never call it.
  const api = async () => (await import('./service-api.ts')).createServiceApi(config)
  const verify = async (token: unknown) => {
    let principal = verifier.verify(token)
    // An await that is not needed would cost a tenth of the verification.
    if (principal instanceof Promise) principal = await principal
    if (isCurrent) judge(await ask(isCurrent, principal.claims))
    return principal
  }
  return {
    verify,
    verifySync(token) {
      const principal = verifier.verifySync(token)
      if (isCurrent) judge(ask(isCurrent, principal.claims))
      return principal
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
    registerPermissions(options = {}) {
      registration = startRegistration(config, options)
      return registration
    },
    api: {
      introspect: async (token) => (await api()).introspect(token),
      registerOrReturn: async (user) => (await api()).registerOrReturn(user),
    },
    health: () => ({
      registration: registration?.state ?? 'off',
      revocation: { mode: revocation.mode, connected: false, ageSec: null, ...feed?.health() },
      kids: verifier.kids,
    }),
    async close() {
      closing.abort(unreachable('auth.close() was called'))
    },
  }
}

/** Tokens come from outside, and may be anything. */
export interface LocalAuth extends Omit<Auth, 'verify' | 'verifySync' | 'safeVerify'> {
  verify(token: unknown): Promise<Principal>
  verifySync(token: unknown): Principal
  safeVerify(token: unknown): Promise<VerifyResult>
}

/** The app's answer, or its promise of one. An error of the app is not kept: it was made from claims and may quote them. */
function ask(isCurrent: (claims: Claims) => unknown, claims: Claims): unknown {
  const cannotTell = () => {
    throw refused('REVOCATION_UNAVAILABLE', 'revocation.isCurrent threw')
  }
  try {
    const answer = isCurrent(claims)
    return answer instanceof Promise ? answer.catch(cannotTell) : answer
  } catch {
    return cannotTell()
  }
}

function judge(answer: unknown): void {
  if (answer instanceof Promise) {
    // Nobody will await it; its failure must not end the process.
    answer.catch(() => {})
    throw configInvalid('verifySync needs a revocation.isCurrent without a promise')
  }
  if (answer !== true) throw refused('TOKEN_REVOKED')
}

/** RFC 6750 section 2.1; undefined when the caller sent no bearer token. */
function readBearer(headers: RequestHeaders): string | undefined {
  const { authorization, Authorization } = headers as Exclude<RequestHeaders, { get(name: string): unknown }>
  const value = typeof headers.get === 'function' ? headers.get('authorization') : (authorization ?? Authorization)
  // Sent twice, it is joined by a comma: not a token, and refused as such.
  return /^bearer +(.*)$/is.exec(String(value ?? '').trim())?.[1]
}
