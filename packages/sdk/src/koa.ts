import type { Auth } from './auth.ts'
import { AuthError } from './errors.ts'
import { assertAccess, checkRequirements, type Requirements, refusalFor } from './guard.ts'
import type { Principal } from './principal.ts'

export type { Requirements } from './guard.ts'

/** The part of Koa's context that a guard touches; Koa itself is not needed, nor are its types. */
export interface GuardContext {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly response: { get(name: string): string | string[] }
  readonly state: { auth?: unknown }
  status: number
  body: unknown
  set(name: string, value: string): void
}

export type KoaGuard = (context: GuardContext, next: () => Promise<unknown>) => Promise<void>

/** The type of `ctx.state` behind `requireAuth`: `new Router<AuthState<BillingPermission>>()`. */
export interface AuthState<Name extends string = string> {
  auth: Principal<Name>
}

/** The type of `ctx.state` behind `optionalAuth`. */
export interface OptionalAuthState<Name extends string = string> {
  auth?: Principal<Name>
}

/**
 * Lets a request through when its bearer token is good and the user may do what is asked, with the principal in
 * `ctx.state.auth`. Answers 401 or 403 otherwise, in the service's error shape. It verifies by itself, so it needs no
 * middleware before it, and believes none.
 */
export function requireAuth<Name extends string>(auth: Auth<Name>, requirements: Requirements<NoInfer<Name>> = {}): KoaGuard {
  checkAuth(auth)
  checkRequirements(requirements)
  return async (context, next) => {
    try {
      const principal = await auth.authenticate(context.headers)
      assertAccess(principal, requirements)
      context.state.auth = principal
    } catch (error) {
      return refuse(context, error)
    }
    try {
      await next()
    } catch (error) {
      // From `ctx.state.auth.assert(…)` in a handler. Other errors, of other tokens say, are the app's to answer.
      if (!AuthError.is(error, 'PERMISSION_DENIED')) throw error
      refuse(context, error)
    }
  }
}

/** Lets a request without a bearer token through, without `ctx.state.auth`; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(auth: Auth<Name>): KoaGuard {
  checkAuth(auth)
  return async (context, next) => {
    try {
      context.state.auth = await auth.authenticate(context.headers)
    } catch (error) {
      if (!AuthError.is(error, 'TOKEN_MISSING')) return refuse(context, error)
      context.state.auth = undefined
    }
    await next()
  }
}

function checkAuth(auth: { authenticate?: unknown } | undefined): void {
  if (typeof auth?.authenticate !== 'function')
    throw new AuthError('CONFIG_INVALID', { message: 'a guard needs what createAuth returned' })
}

function refuse(context: GuardContext, error: unknown): void {
  const refusal = refusalFor(error, requestIdOf(context))
  if (refusal === undefined) throw error
  for (const [name, value] of Object.entries(refusal.headers)) context.set(name, value)
  context.status = refusal.status
  context.body = refusal.body
}

/** The id that the app answers with, or else the one that the caller sent. */
function requestIdOf(context: GuardContext): string | undefined {
  const id = context.response.get('X-Request-Id') || context.headers['x-request-id']
  return typeof id === 'string' ? id : undefined
}
