import type { Auth, LocalAuth, RequestHeaders } from './auth.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { partsOf } from './hidden-calls.ts'
import type { Principal, PrincipalOf, TokenKind } from './principal.ts'
import { type Refusal, refusal } from './refusal.ts'

/** Options of every guard. `Request` is the request type of the framework. */
export interface GuardOptions<Request = unknown, Kind extends TokenKind = TokenKind> {
  /**
   * Whose tokens the guard accepts: those of users, machine tokens of service accounts, or both (default `user`). Others get 403.
   */
  readonly kind?: Kind
  /** Called for every request that the guard refuses, with the reason. Errors it throws are ignored. */
  onRefused?(error: AuthError, request: Request): void
}

/** What a request needs to pass, besides a valid token. All of it must hold. */
export interface Requirements<Name extends string = string, Request = unknown, Kind extends TokenKind = TokenKind>
  extends GuardOptions<Request, Kind> {
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

const optional: Checks<GuardOptions> = {
  kind: (value) => ['user', 'service', 'any'].includes(`${value}`),
  onRefused: (value) => typeof value === 'function',
}
/** Of `requireAuth` and `requireSession`. */
export const requirementChecks: Checks<Requirements> = {
  ...optional,
  permissions: isList,
  anyOf: isList,
  role: (value) => typeof value === 'string',
  org: (value) => value === 'required',
}

/** The part of a request that a guard reads. */
export interface IncomingRequest {
  readonly headers: RequestHeaders
  /** Header names and values in turn, as received. Only Node has them. */
  readonly rawHeaders?: readonly string[]
}

/** Resolves to what the handler gets, or rejects with the reason why the request may not pass. `onRefused` gets `origin`. */
export type Admit<Found> = (request: IncomingRequest, origin?: unknown) => Promise<Found>

/** For `requireAuth`: resolves to the principal of a request that may pass. */
export function admitAuthorized<Name extends string, Kind extends TokenKind>(
  auth: Auth<Name> & Partial<Pick<LocalAuth, typeof partsOf>>,
  requirements: Requirements<Name, never, Kind>,
): Admit<PrincipalOf<Kind, Name>> {
  checkAuth(auth)
  checkOptions('requireAuth', requirements, requirementChecks)
  let isAsking = requirements.permissions !== undefined || requirements.anyOf !== undefined
  // Runs at once; with `lazy`, once the auth has been created.
  const askPermissions = () => {
    const parts = isAsking ? auth[partsOf]?.() : undefined
    if (parts) isAsking = false
    parts?.started?.then(
      (warnOfScope) => warnOfScope(),
      () => {},
    )
  }
  askPermissions()
  return tellRefusals(requirements, async (request) => {
    const principal = await auth.authenticate(distinctHeaders(request))
    askPermissions()
    assertAccess(principal, requirements)
    return principal as PrincipalOf<Kind, Name>
  })
}

/** For `optionalAuth`: a request without a bearer token passes without a principal. */
export function admitAnyone<Name extends string, Kind extends TokenKind>(
  auth: Auth<Name>,
  options: GuardOptions<never, Kind> = {},
): Admit<PrincipalOf<Kind, Name> | undefined> {
  checkAuth(auth)
  checkOptions('optionalAuth', options, optional)
  return tellRefusals(options, async (request) => {
    try {
      const principal = await auth.authenticate(distinctHeaders(request))
      assertKind(principal, options.kind)
      return principal as PrincipalOf<Kind, Name>
    } catch (error) {
      if (AuthError.is(error, 'TOKEN_MISSING')) return undefined
      throw error
    }
  })
}

function tellRefusals<Found>({ onRefused }: GuardOptions, admit: Admit<Found>): Admit<Found> {
  if (!onRefused) return admit
  return async (request, origin = request) => {
    try {
      return await admit(request)
    } catch (error) {
      // An error of the app's function, thrown or rejected, must not change the answer.
      if (AuthError.is(error) && refusal(error)) (async () => onRefused(error, origin))().catch(() => {})
      throw error
    }
  }
}

/** Returns the headers with every `Authorization` value. Node keeps only the first, while a proxy may have checked another. */
function distinctHeaders({ headers, rawHeaders = [] }: IncomingRequest): RequestHeaders {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && /^authorization$/i.test(rawHeaders[index - 1]!))
  return values.length > 1 ? { authorization: values } : headers
}

function checkAuth(auth: { authenticate?: unknown } | undefined): void {
  if (typeof auth?.authenticate !== 'function') throw configInvalid('a guard needs the result of createAuth')
}

/** Catches `createServer(requireAuth(auth))`: the guard would get a request in place of a handler, and never answer it. */
export function checkHandler(handler: unknown): void {
  if (typeof handler !== 'function') throw configInvalid('a guard needs the handler that it guards: requireAuth(auth)(handler)')
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

export function assertAccess(principal: Principal, { kind, permissions, anyOf, role, org }: Requirements): void {
  assertKind(principal, kind)
  if (permissions) principal.assert(...permissions)
  if (anyOf && !principal.hasAny(...anyOf)) throw denied(`any of: ${anyOf.join(', ')}`, principal)
  if (role !== undefined && !principal.hasRole(role)) throw denied(`the role ${role}`, principal)
  if (org === 'required' && principal.org === null) throw refused('PERMISSION_DENIED', 'the token has no organization')
}

/** A machine token carries permissions too, so a route written for users would let it in. */
function assertKind({ kind }: Principal, wanted: GuardOptions['kind'] = 'user'): void {
  if (wanted !== 'any' && kind !== wanted) throw refused('PERMISSION_DENIED', `the token is of kind ${kind}, not ${wanted}`)
}

function denied(missing: string, { claims: { roles, permissions } }: Principal): AuthError {
  return refused(
    'PERMISSION_DENIED',
    `missing ${missing}; the token has ${roles.length} roles, ${permissions.length} permissions`,
  )
}

/**
 * Returns the answer to a request that failed with `error`, or undefined if the error is not about the caller. The answer has the
 * request id that the app answers with, or else the one that the caller sent.
 */
export function refusalFor(error: unknown, answeredId: unknown, sentId: unknown): Refusal | undefined {
  return refusal(error, answeredId || sentId)
}
