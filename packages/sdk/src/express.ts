import type { Auth } from './auth.ts'
import { type Admit, admitAnyone, admitAuthorized, refusalFor } from './guard.ts'
import type { Principal, TokenKind } from './principal.ts'
import { setAuth } from './request-auth.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export { getAuth } from './request-auth.ts'
export type { GuardOptions, Requirements } from './requirements.ts'

/** The part of Express's request that a guard reads. Neither Express nor its types are needed. */
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
 * Returns middleware for an app (`app.use`), a router or one route, in Express 4 and 5. It lets a request through if its bearer
 * token is valid and meets the requirements; `getAuth(req)` then returns the principal. Otherwise it answers 401 or 403 in the
 * service's error shape, or 503 if revocations cannot be checked. It verifies the token itself: it needs no middleware before it,
 * and trusts none. Throws `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { getAuth, requireAuth } from '@gatehouse/sdk/express'
 * import express from 'express'
 *
 * const auth = createAuth()
 * const app = express()
 * app.get('/invoices', requireAuth(auth, { permissions: ['invoices:read'] }), (req, res) => {
 *   res.json({ for: getAuth(req).userId })
 * })
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardRequest, Kind> = {},
): ExpressGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `getAuth(req)` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * app.get('/', optionalAuth(auth), (req, res) => {
 *   res.send(getAuth<string, undefined>(req) ? 'Welcome back' : 'Hello')
 * })
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<GuardRequest, Kind> = {},
): ExpressGuard {
  return guardWith(admitAnyone(auth, options))
}

/**
 * Answers a failed `getAuth(req).assert(…)` in a handler with 403 and a failed `assertFreshProof` with 401, in the service's
 * error shape, and passes every other error on: `app.use(authErrorHandler)`, after the routes. Without it, Express answers 403
 * with an HTML page.
 *
 * @example
 * ```ts
 * app.use(authErrorHandler) // after the routes
 * ```
 */
export function authErrorHandler(
  error: unknown,
  request: GuardRequest,
  response: GuardResponse,
  next: (error?: unknown) => void,
): void {
  if (isRefusedByHandler(error)) refuse(error, request, response, next)
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
