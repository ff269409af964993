import type { Auth, RequestHeaders } from './auth.ts'
import { AuthError, configInvalid, refused } from './errors.ts'
import { asksPermissions } from './permission-scope.ts'
import type { Principal } from './principal.ts'
import { type Refusal, refusal } from './refusal.ts'

/** What every guard takes. `Request` is the framework's own. */
export interface GuardOptions<Request = unknown> {
  /** Whose tokens it takes: of users, machine tokens of service accounts, or both (default `user`). */
  readonly kind?: 'user' | 'service' | 'any'
  /** Is told of every request that the guard refuses, and why; what it throws is ignored. */
  onRefused?(error: AuthError, request: Request): void
}

/** What a guard requires besides a valid token. Every member must hold. */
export interface Requirements<Name extends string = string, Request = unknown> extends GuardOptions<Request> {
  /** Every one of these permissions. */
  readonly permissions?: readonly Name[]
  /** At least one of these permissions. */
  readonly anyOf?: readonly Name[]
  /** This role. */
  readonly role?: string
  /** The token must speak for an organization. */
  readonly org?: 'required'
}

const isList = (value: unknown) => Array.isArray(value)

const wellMade: { readonly [Name in keyof Requirements]-?: (value: unknown) => boolean } = {
  permissions: isList,
  anyOf: isList,
  role: (value) => typeof value === 'string',
  org: (value) => value === 'required',
  kind: (value) => ['user', 'service', 'any'].includes(`${value}`),
  onRefused: (value) => typeof value === 'function',
}

/** What a guard reads of a request. */
export interface IncomingRequest {
  readonly headers: RequestHeaders
  /** Names and values in turn, as they came; only Node has them. */
  readonly rawHeaders?: readonly string[]
}

/** Gives what a handler gets, and throws what is wrong with a request that may not pass. `origin` is what `onRefused` is handed. */
export type Admit<Found> = (request: IncomingRequest, origin?: unknown) => Promise<Found>

/** For `requireAuth`: gives the principal of a request that may pass. */
export function admitAuthorized<Name extends string>(
  auth: Auth<Name> & { [asksPermissions]?(): void },
  requirements: Requirements<Name>,
): Admit<Principal<Name>> {
  checkAuth(auth)
  checkRequirements(requirements)
  let isAsking = requirements.permissions !== undefined || requirements.anyOf !== undefined
  // Now, or with `lazy` once the auth is made.
  const askPermissions = () => {
    const ask = isAsking ? auth[asksPermissions] : undefined
    if (ask) isAsking = false
    ask?.()
  }
  askPermissions()
  return tellRefusals(requirements, async (request) => {
    const principal = await auth.authenticate(distinctHeaders(request))
    askPermissions()
    assertAccess(principal, requirements)
    return principal
  })
}

/** For `optionalAuth`: a request without a bearer token passes without a principal. */
export function admitAnyone<Name extends string>(
  auth: Auth<Name>,
  options: GuardOptions = {},
): Admit<Principal<Name> | undefined> {
  checkAuth(auth)
  return tellRefusals(options, async (request) => {
    try {
      const principal = await auth.authenticate(distinctHeaders(request))
      assertKind(principal, options.kind)
      return principal
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
      // What the app's function does, now or later, changes nothing about the answer.
      if (AuthError.is(error) && refusal(error)) (async () => onRefused(error, origin))().catch(() => {})
      throw error
    }
  }
}

/** All `Authorization` headers. Node keeps only the first, while a proxy may have checked another. */
function distinctHeaders({ headers, rawHeaders = [] }: IncomingRequest): RequestHeaders {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && /^authorization$/i.test(rawHeaders[index - 1]!))
  return values.length > 1 ? { authorization: values } : headers
}

function checkAuth(auth: { authenticate?: unknown } | undefined): void {
  if (typeof auth?.authenticate !== 'function') throw configInvalid('a guard needs what createAuth returned')
}

/** `createServer(requireAuth(auth))` would hand the guard a request in the place of a handler, and never answer it. */
export function checkHandler(handler: unknown): void {
  if (typeof handler !== 'function') throw configInvalid('a guard needs the handler that it guards: requireAuth(auth)(handler)')
}

/** A requirement that is misspelt or undefined would leave a route open: it stops the program where the guard is made. */
function checkRequirements(requirements: Requirements): void {
  for (const [name, value] of Object.entries(requirements)) {
    const holds = Object.hasOwn(wellMade, name) && wellMade[name as keyof Requirements](value)
    if (!holds) throw configInvalid(`requireAuth: "${name}" is no requirement, or not one of this kind`)
  }
}

function assertAccess(principal: Principal, { kind, permissions, anyOf, role, org }: Requirements): void {
  assertKind(principal, kind)
  if (permissions) principal.assert(...permissions)
  if (anyOf && !principal.hasAny(...anyOf)) throw denied(`any of: ${anyOf.join(', ')}`, principal)
  if (role !== undefined && !principal.hasRole(role)) throw denied(`the role ${role}`, principal)
  if (org === 'required' && principal.org === null) throw refused('PERMISSION_DENIED', 'the token speaks for no organization')
}

/** A machine token has permissions too, so a route that never thought of one would let it in. */
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
 * How to answer a request that `error` ends; undefined for errors that are not about the caller. The request's id is the one that
 * the app answers with, or else the one that the caller sent.
 */
export function refusalFor(error: unknown, answeredId: unknown, sentId: unknown): Refusal | undefined {
  return refusal(error, answeredId || sentId)
}
