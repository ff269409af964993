import type { Claims } from './claims.ts'
import { type AuthOptions, type Config, readConfig } from './config.ts'
import { AuthError } from './errors.ts'
import { nodeBuiltins } from './node-builtins.ts'
import type { Principal } from './principal.ts'
import { followRevocations, type RevocationFeed } from './revocation-feed.ts'
import { TokenVerifier } from './verify-token.ts'

export type VerifyResult<Name extends string = string> =
  | { readonly ok: true; readonly principal: Principal<Name> }
  | { readonly ok: false; readonly error: AuthError }

/** Node's `req.headers`, a plain object, or a `Headers`. */
export type RequestHeaders =
  | { readonly [name: string]: string | readonly string[] | undefined }
  | { get(name: string): string | null }

export interface Health {
  readonly registration: 'off'
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
  return new LocalAuth(config, new TokenVerifier(config, nodeBuiltins(), feed), feed) as unknown as Auth<Name>
}

type IsCurrent = (claims: Claims) => boolean | Promise<boolean>

/** Its fields are private, so that logging it prints no secret. */
export class LocalAuth implements Auth {
  readonly #mode: Config['revocation']['mode']
  readonly #isCurrent: IsCurrent | undefined
  readonly #verifier: TokenVerifier
  readonly #feed: RevocationFeed | undefined

  constructor({ revocation }: Config, verifier: TokenVerifier, feed?: RevocationFeed) {
    this.#mode = revocation.mode
    this.#isCurrent = revocation.mode === 'custom' ? revocation.isCurrent : undefined
    this.#verifier = verifier
    this.#feed = feed
  }

  async verify(token: unknown): Promise<Principal> {
    // An await that is not needed would cost a tenth of the verification.
    const principal = this.#verifier.synchronous ? this.#verifier.verifySync(token) : await this.#verifier.verify(token)
    if (this.#isCurrent) checkAnswer(await ask(this.#isCurrent, principal.claims))
    return principal
  }

  verifySync(token: unknown): Principal {
    const principal = this.#verifier.verifySync(token)
    if (this.#isCurrent) checkAnswer(ask(this.#isCurrent, principal.claims))
    return principal
  }

  async safeVerify(token: unknown): Promise<VerifyResult> {
    try {
      return { ok: true, principal: await this.verify(token) }
    } catch (error) {
      if (!AuthError.is(error)) throw error
      return { ok: false, error }
    }
  }

  async authenticate(headers: RequestHeaders): Promise<Principal> {
    return this.verify(readBearer(headers))
  }

  health(): Health {
    const revocation = this.#feed?.health() ?? { mode: this.#mode, connected: false, ageSec: null }
    return { registration: 'off', revocation, kids: this.#verifier.kids }
  }

  async close(): Promise<void> {
    this.#feed?.close()
  }
}

/** The app's answer, or its promise of one. An error of the app is named, not kept: it was made from claims and may quote them. */
function ask(isCurrent: IsCurrent, claims: Claims): unknown {
  const cannotTell = (error: unknown) => {
    const name = error instanceof Error ? error.name : typeof error
    throw new AuthError('REVOCATION_UNAVAILABLE', { hint: `revocation.isCurrent threw ${name}` })
  }
  try {
    const answer = isCurrent(claims)
    return typeof answer === 'boolean' ? answer : Promise.resolve(answer).catch(cannotTell)
  } catch (error) {
    return cannotTell(error)
  }
}

function checkAnswer(answer: unknown): void {
  if (answer instanceof Promise) {
    // Nobody will await it; its failure must not end the process.
    answer.catch(() => {})
    throw new AuthError('CONFIG_INVALID', { message: 'verifySync needs a revocation.isCurrent without a promise' })
  }
  if (answer !== true) throw new AuthError('TOKEN_REVOKED')
}

/** RFC 6750 section 2.1; undefined when the caller sent no bearer token. */
function readBearer(headers: RequestHeaders): string | undefined {
  const { authorization, Authorization } = headers as Exclude<RequestHeaders, { get(name: string): unknown }>
  const value = typeof headers.get === 'function' ? headers.get('authorization') : (authorization ?? Authorization)
  // Sent twice, it is joined by a comma: not a token, and refused as such.
  return /^bearer +(.*)$/is.exec(String(value ?? '').trim())?.[1]
}
