import type { Auth } from './auth.ts'
import { AuthError } from './errors.ts'
import { type Admit, admitAnyone, admitAuthorized, type GuardOptions, type Requirements, refusalFor } from './guard.ts'
import type { Principal } from './principal.ts'
import { setAuth } from './request-auth.ts'

export type { GuardOptions, Requirements } from './guard.ts'
export { getAuth } from './request-auth.ts'

/** The part of Express's request that a guard reads; Express itself is not needed, nor are its types. */
export interface GuardRequest {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly rawHeaders?: readonly string[]
}

/** The part of Express's response that a guard answers with. */
export interface GuardResponse {
  getHeader(name: string): unknown
  status(code: number): unknown
  set(headers: Record<string, string>): unknown
  json(body: unknown): unknown
}

export type ExpressGuard = (request: GuardRequest, response: GuardResponse, next: (error?: unknown) => void) => Promise<void>

/**
 * Lets a request through when its bearer token is good and the user may do what is asked; `getAuth(req)` gives the principal.
 * Answers 401 or 403 otherwise, in the service's error shape. It verifies by itself, so it needs no middleware before it,
 * and believes none. For an app (`app.use`), a router or one route; Express 4 and 5.
 */
export function requireAuth<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardRequest> = {},
): ExpressGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/** Lets a request without a bearer token through, for which `getAuth(req)` is undefined; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(auth: Auth<Name>, options: GuardOptions<GuardRequest> = {}): ExpressGuard {
  return guardWith(admitAnyone(auth, options))
}

/**
 * Answers `getAuth(req).assert(…)` that failed in a handler with 403 in the service's error shape, and hands every other error on:
 * `app.use(authErrorHandler)`, after the routes. Without it Express answers 403 as well, with a page.
 */
export function authErrorHandler(
  error: unknown,
  request: GuardRequest,
  response: GuardResponse,
  next: (error?: unknown) => void,
): void {
  if (AuthError.is(error, 'PERMISSION_DENIED')) refuse(error, request, response, next)
  else next(error)
}

function guardWith(admit: Admit<Principal | undefined>): ExpressGuard {
  return async (request, response, next) => {
    try {
      setAuth(request, await admit(request))
    } catch (error) {
      return refuse(error, request, response, next)
    }
    next()
  }
}

function refuse(error: unknown, request: GuardRequest, response: GuardResponse, next: (error: unknown) => void): void {
  const refusal = refusalFor(error, response.getHeader('X-Request-Id'), request.headers['x-request-id'])
  if (refusal === undefined) {
    next(error)
    return
  }
  response.status(refusal.status)
  response.set({ ...refusal.headers })
  response.json(refusal.body)
}
