import type { Auth, RequestHeaders } from './auth.ts'
import { AuthError } from './errors.ts'
import type { Principal } from './principal.ts'

/** What a guard requires besides a valid token. Every member must hold. */
export interface Requirements<Name extends string = string> {
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
}

/** What a guard reads of a request. */
export interface IncomingRequest {
  readonly headers: RequestHeaders
  /** Names and values in turn, as they came; only Node has them. */
  readonly rawHeaders?: readonly string[]
}

/** For `requireAuth`: gives the principal of a request that may pass, and throws what is wrong with any other. */
export function admitAuthorized<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<Name>,
): (request: IncomingRequest) => Promise<Principal<Name>> {
  checkAuth(auth)
  checkRequirements(requirements)
  return async (request) => {
    const principal = await auth.authenticate(distinctHeaders(request))
    assertAccess(principal, requirements)
    return principal
  }
}

/** For `optionalAuth`: a request without a bearer token passes without a principal. */
export function admitAnyone<Name extends string>(
  auth: Auth<Name>,
): (request: IncomingRequest) => Promise<Principal<Name> | undefined> {
  checkAuth(auth)
  return async (request) => {
    try {
      return await auth.authenticate(distinctHeaders(request))
    } catch (error) {
      if (AuthError.is(error, 'TOKEN_MISSING')) return undefined
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
  if (typeof auth?.authenticate !== 'function')
    throw new AuthError('CONFIG_INVALID', { message: 'a guard needs what createAuth returned' })
}

/** A requirement that is misspelt or undefined would leave a route open: it stops the program where the guard is made. */
function checkRequirements(requirements: Requirements): void {
  for (const [name, value] of Object.entries(requirements)) {
    const holds = Object.hasOwn(wellMade, name) && wellMade[name as keyof Requirements](value)
    if (!holds)
      throw new AuthError('CONFIG_INVALID', { message: `requireAuth: "${name}" is no requirement, or not one of this kind` })
  }
}

function assertAccess(principal: Principal, { permissions, anyOf, role, org }: Requirements): void {
  if (permissions) principal.assert(...permissions)
  if (anyOf && !principal.hasAny(...anyOf)) throw denied(`missing any of: ${anyOf.join(', ')}`)
  if (role !== undefined && !principal.hasRole(role)) throw denied(`missing the role ${role}`)
  if (org === 'required' && principal.org === null) throw denied('the token speaks for no organization')
}

function denied(hint: string): AuthError {
  return new AuthError('PERMISSION_DENIED', { hint })
}

/** The service's error shape, with the service's words: a client sees no difference between the two. */
export interface Refusal {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly status: number
    readonly code: string
    readonly title: string
    readonly detail: string
    readonly request_id?: string
  }
}

/**
 * How to answer a request that `error` ends; undefined for errors that are not about the caller. The request's id is the one that
 * the app answers with, or else the one that the caller sent.
 */
export function refusalFor(error: unknown, answeredId: unknown, sentId: unknown): Refusal | undefined {
  if (!AuthError.is(error)) return undefined
  const words = wireWords(error)
  if (words === undefined) return undefined
  const [code, title, detail = title] = words
  const { status, headers } = error
  const requestId = answeredId || sentId
  const shownId = typeof requestId === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(requestId) ? { request_id: requestId } : {}
  return { status, headers, body: { status, code, title, detail: `${detail}.`, ...shownId } }
}

function wireWords({ code, status }: AuthError): [code: string, title: string, detail?: string] | undefined {
  if (code === 'TOKEN_MISSING') return ['token_missing', 'Access token is missing', 'No access token was sent']
  if (code === 'TOKEN_EXPIRED') return ['token_expired', 'Access token has expired']
  if (code === 'TOKEN_REVOKED') return ['token_revoked', 'Access token was revoked']
  if (status === 401) return ['token_invalid', 'Access token is not valid']
  if (status === 403) return ['permission_denied', 'Permission denied', 'The user may not do this']
  if (status === 503) return ['unavailable', 'Service is unavailable']
  return undefined
}
