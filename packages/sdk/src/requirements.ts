import { AuthError, configInvalid } from './errors.ts'
import type { TokenKind } from './principal.ts'

/** Options of every guard. `Request` is the request type of the framework. */
export interface GuardOptions<Request = unknown, Kind extends TokenKind = TokenKind> {
  /**
   * Whose tokens the guard accepts: those of users, machine tokens of service accounts, or both (default `user`). Others get 403.
   */
  readonly kind?: Kind
  /** Called for every request that the guard refuses, with the reason. Errors it throws are ignored. */
  onRefused?(error: AuthError, request: Request): void
}

/**
 * How the user must have proven who they are. All of it must hold. Only an app with a key of its own (`signing: own`) can rely on
 * it: everybody who has the shared secret can forge these claims.
 */
export interface ProofRequirements {
  /** How many seconds ago the user may have signed in. A refresh does not count. */
  readonly maxAgeSec?: number
  /** The user must have shown two factors, or a passkey. */
  readonly amr?: 'mfa'
}

/** What a request needs to pass, besides a valid token. All of it must hold. */
export interface Requirements<Name extends string = string, Request = unknown, Kind extends TokenKind = TokenKind>
  extends GuardOptions<Request, Kind>,
    ProofRequirements {
  /** The token must carry all of these permissions. */
  readonly permissions?: readonly Name[]
  /** The token must carry at least one of these permissions. */
  readonly anyOf?: readonly Name[]
  /** The token must carry this role. */
  readonly role?: string
  /** The token must speak for an organization. */
  readonly org?: 'required'
}

const isList = (value: unknown) => Array.isArray(value)

/** Whether an option has the type that it must have. */
type Checks<Options> = { readonly [Name in keyof Options]-?: (value: unknown) => boolean }

/** Of `optionalAuth`. */
export const optionChecks: Checks<GuardOptions> = {
  kind: (value) => ['user', 'service', 'any'].includes(`${value}`),
  onRefused: (value) => typeof value === 'function',
}
/** Of `assertFreshProof`. */
export const proofChecks: Checks<ProofRequirements> = {
  // With 0, a proof would be too old when it arrives.
  maxAgeSec: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  amr: (value) => value === 'mfa',
}
/** Of `requireAuth` and `requireSession`. */
export const requirementChecks: Checks<Requirements> = {
  ...optionChecks,
  ...proofChecks,
  permissions: isList,
  anyOf: isList,
  role: (value) => typeof value === 'string',
  org: (value) => value === 'required',
}

/**
 * Throws when the guard is created, because a requirement that is misspelt, undefined, or given to `optionalAuth`, which asks for
 * none, would leave the route open.
 */
export function checkOptions(guard: string, options: object, checks: Record<string, (value: unknown) => boolean>): void {
  for (const [name, value] of Object.entries(options)) {
    const holds = Object.hasOwn(checks, name) && checks[name]?.(value)
    if (!holds) throw configInvalid(`${guard}: "${name}" is not one of its options, or has the wrong type`)
  }
}

/** Whether a handler has refused the caller: `assert` or `assertFreshProof` failed. The app answers errors about other tokens. */
export function isRefusedByHandler(error: unknown): error is AuthError {
  return AuthError.is(error, 'PERMISSION_DENIED') || AuthError.is(error, 'STEP_UP_REQUIRED')
}
