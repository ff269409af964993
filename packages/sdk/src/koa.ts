import type { Auth } from './auth.ts'
import { type Admit, admitAnyone, admitAuthorized, refusalFor } from './guard.ts'
import type { PrincipalOf, TokenKind } from './principal.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export type { GuardOptions, Requirements } from './requirements.ts'

/** The part of Koa's context that a guard uses. Neither Koa nor its types are needed. */
export interface GuardContext<State> {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly req?: { readonly rawHeaders?: readonly string[] }
  readonly response: { get(name: string): string | string[] }
  readonly state: State
  status: number
  body: unknown
  set(name: string, value: string): void
}

/** Middleware from which a chain of `app.use(…)` infers the type of `ctx.state`. */
export type KoaGuard<State> = (context: GuardContext<State>, next: () => Promise<unknown>) => Promise<void>

/** The type of `ctx.state` behind `requireAuth`, if it is not inferred: `new Router<AuthState<BillingPermission>>()`. */
export interface AuthState<Name extends string = string, Kind extends TokenKind = 'user'> {
  auth: PrincipalOf<Kind, Name>
}

/** The type of `ctx.state` behind `optionalAuth`. */
export interface OptionalAuthState<Name extends string = string, Kind extends TokenKind = 'user'> {
  auth: PrincipalOf<Kind, Name> | undefined
}

/**
 * Returns middleware that lets a request through if its bearer token is valid and meets the requirements, with the principal in
 * `ctx.state.auth`. Otherwise it answers 401 or 403 in the service's error shape, or 503 if revocations cannot be checked. It
 * also answers a failed `ctx.state.auth.assert(…)` in a handler with 403, and a failed `assertFreshProof` with 401. It verifies
 * the token itself: it needs no middleware before it, and trusts none. A router of `@koa/router` that has a prefix must be
 * `sensitive: true`, or requests in another case pass by its middleware. Throws `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { requireAuth } from '@gatehouse/sdk/koa'
 * import Router from '@koa/router'
 *
 * const auth = createAuth()
 * const router = new Router()
 * router.get('/invoices', requireAuth(auth, { permissions: ['invoices:read'] }), (ctx) => {
 *   ctx.body = { for: ctx.state.auth.userId }
 * })
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardContext<unknown>, Kind> = {},
): KoaGuard<AuthState<Name, Kind>> {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `ctx.state.auth` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * router.get('/', optionalAuth(auth), (ctx) => {
 *   ctx.body = ctx.state.auth ? 'Welcome back' : 'Hello'
 * })
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<GuardContext<unknown>, Kind> = {},
): KoaGuard<OptionalAuthState<Name, Kind>> {
  return guardWith(admitAnyone(auth, options))
}

function guardWith<Found>(admit: Admit<Found>): KoaGuard<{ auth: Found }> {
  return async (context, next) => {
    try {
      context.state.auth = await admit({ headers: context.headers, rawHeaders: context.req?.rawHeaders }, context)
    } catch (error) {
      return refuse(context, error)
    }
    try {
      await next()
    } catch (error) {
      // A failed `ctx.state.auth.assert(…)` in a handler. The app answers other errors, such as those about other tokens.
      if (!isRefusedByHandler(error)) throw error
      refuse(context, error)
    }
  }
}

function refuse(context: GuardContext<unknown>, error: unknown): void {
  const refusal = refusalFor(error, context.response.get('X-Request-Id'), context.headers['x-request-id'])
  if (refusal === undefined) throw error
  for (const [name, value] of Object.entries(refusal.headers)) context.set(name, value)
  context.status = refusal.status
  context.body = refusal.body
}
