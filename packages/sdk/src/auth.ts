import type { Claims } from './claims.ts'
import { type AuthOptions, type Config, readConfig } from './config.ts'
import { AuthError } from './errors.ts'
import { nodeBuiltins } from './node-builtins.ts'
import type { Principal } from './principal.ts'
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
  readonly revocation: { readonly mode: 'off' | 'custom'; readonly connected: boolean; readonly ageSec: number | null }
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
  // The names are a matter of types alone.
  return new LocalAuth(config, new TokenVerifier(config, nodeBuiltins())) as unknown as Auth<Name>
}

/** Its fields are private, so that logging it prints no secret. */
export class LocalAuth implements Auth {
  readonly #revocation: Config['revocation']
  readonly #verifier: TokenVerifier

  constructor(config: Config, verifier: TokenVerifier) {
    this.#revocation = config.revocation
    this.#verifier = verifier
  }

  async verify(token: unknown): Promise<Principal> {
    // An await that is not needed would cost a tenth of the verification.
    const principal = this.#verifier.synchronous ? this.#verifier.verifySync(token) : await this.#verifier.verify(token)
    if (this.#revocation.mode === 'custom') {
      const current = await askWhetherCurrent(this.#revocation.isCurrent, principal.claims)
      if (current !== true) throw new AuthError('TOKEN_REVOKED')
    }
    return principal
  }

  verifySync(token: unknown): Principal {
    const principal = this.#verifier.verifySync(token)
    if (this.#revocation.mode === 'custom') {
      const current = askWhetherCurrentSync(this.#revocation.isCurrent, principal.claims)
      if (current !== true) throw new AuthError('TOKEN_REVOKED')
    }
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
    const revocation = { mode: this.#revocation.mode, connected: false, ageSec: null }
    return { registration: 'off', revocation, kids: this.#verifier.kids }
  }

  async close(): Promise<void> {}
}

type IsCurrent = (claims: Claims) => boolean | Promise<boolean>

async function askWhetherCurrent(isCurrent: IsCurrent, claims: Claims): Promise<boolean> {
  try {
    return await isCurrent(claims)
  } catch (error) {
    throw cannotTell(error)
  }
}

function askWhetherCurrentSync(isCurrent: IsCurrent, claims: Claims): boolean {
  let answer: boolean | Promise<boolean>
  try {
    answer = isCurrent(claims)
  } catch (error) {
    throw cannotTell(error)
  }
  if (typeof answer === 'boolean') return answer
  // Nobody will await it; its failure must not end the process.
  Promise.resolve(answer).catch(() => {})
  throw new AuthError('CONFIG_INVALID', { message: 'verifySync needs a revocation.isCurrent that answers without a promise' })
}

/** The error of the app is named, not kept: it was made from claims and may quote them. */
function cannotTell(error: unknown): AuthError {
  const name = error instanceof Error ? error.name : typeof error
  return new AuthError('REVOCATION_UNAVAILABLE', { hint: `revocation.isCurrent threw (${name}); catch it there to see more` })
}

/** RFC 6750 section 2.1; undefined when the caller sent no bearer token. */
function readBearer(headers: RequestHeaders): string | undefined {
  const value = typeof headers.get === 'function' ? headers.get('authorization') : plainHeader(headers as PlainHeaders)
  const [, scheme, token] = /^ *([^ ]+) *(.*?) *$/s.exec(value ?? '') ?? []
  return scheme?.toLowerCase() === 'bearer' ? token : undefined
}

type PlainHeaders = { readonly [name: string]: string | readonly string[] | undefined }

function plainHeader(headers: PlainHeaders): string | undefined {
  const value = headers.authorization ?? headers.Authorization
  // Sent twice, joined as `Headers` joins them: not a token, and refused as such.
  return typeof value === 'object' ? value.join(', ') : value
}
