import type { Context, MiddlewareHandler } from 'hono'
import type { Auth } from './auth.ts'
import { type Admit, admitAnyone, admitAuthorized, refusalFor } from './guard.ts'
import type { PrincipalOf, TokenKind } from './principal.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export type { GuardOptions, Requirements } from './requirements.ts'

/** The part of a `Request` that every platform has: `context.req.raw`. */
export interface GuardRequest {
  readonly method: string
  readonly url: string
  readonly headers: { get(name: string): string | null }
}

/** The environment behind `requireAuth`, if Hono does not infer it: `new Hono<AuthEnv<BillingPermission>>()`. */
export interface AuthEnv<Name extends string = string, Kind extends TokenKind = 'user'> {
  Variables: { auth: PrincipalOf<Kind, Name> }
}

/** The environment behind `optionalAuth`. */
export interface OptionalAuthEnv<Name extends string = string, Kind extends TokenKind = 'user'> {
  Variables: { auth: PrincipalOf<Kind, Name> | undefined }
}

/**
 * Returns middleware that lets a request through if its bearer token is valid and meets the requirements, with the principal in
 * `c.var.auth`. Otherwise it answers 401 or 403 in the service's error shape, or 503 if revocations cannot be checked. It also
 * answers a failed `c.var.auth.assert(…)` in a handler with 403, and a failed `assertFreshProof` with 401. It verifies the token
 * itself: it needs no middleware before it, and trusts none. Throws `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { requireAuth } from '@gatehouse/sdk/hono'
 * import { Hono } from 'hono'
 *
 * const auth = createAuth()
 * const app = new Hono()
 * app.get('/invoices', requireAuth(auth, { permissions: ['invoices:read'] }), (c) => c.json({ for: c.var.auth.userId }))
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardRequest, Kind> = {},
): MiddlewareHandler<AuthEnv<Name, Kind>> {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `c.var.auth` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * app.get('/', optionalAuth(auth), (c) => c.text(c.var.auth ? 'Welcome back' : 'Hello'))
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<GuardRequest, Kind> = {},
): MiddlewareHandler<OptionalAuthEnv<Name, Kind>> {
  return guardWith(admitAnyone(auth, options))
}

function guardWith<Found>(admit: Admit<Found>): MiddlewareHandler<{ Variables: { auth: Found } }> {
  return async (context, next) => {
    try {
      context.set('auth', await admit(context.req.raw))
    } catch (error) {
      return refuse(context, error)
    }
    await next()
    // A failed `c.var.auth.assert(…)` in a handler, unless the app's own `onError` has answered it.
    if (isRefusedByHandler(context.error) && context.res.status === 500) context.res = refuse(context, context.error)
  }
}

function refuse(context: Context, error: unknown): Response {
  const refusal = refusalFor(error, context.res.headers.get('X-Request-Id'), context.req.header('X-Request-Id'))
  if (refusal === undefined) throw error
  const { status, headers, body } = refusal
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return new Response(JSON.stringify(body), { status, headers: { ...headers, ...type } })
}
