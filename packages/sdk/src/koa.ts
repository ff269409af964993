import type { Auth } from './auth.ts'
import { AuthError } from './errors.ts'
import { type Admit, admitAnyone, admitAuthorized, type GuardOptions, type Requirements, refusalFor } from './guard.ts'
import type { Principal } from './principal.ts'

export type { GuardOptions, Requirements } from './guard.ts'

/** The part of Koa's context that a guard touches; Koa itself is not needed, nor are its types. */
export interface GuardContext<State> {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly req?: { readonly rawHeaders?: readonly string[] }
  readonly response: { get(name: string): string | string[] }
  readonly state: State
  status: number
  body: unknown
  set(name: string, value: string): void
}

/** A chain of `app.use(…)` infers the type of `ctx.state` from it. */
export type KoaGuard<State> = (context: GuardContext<State>, next: () => Promise<unknown>) => Promise<void>

/** The type of `ctx.state` behind `requireAuth`, where it is not inferred: `new Router<AuthState<BillingPermission>>()`. */
export interface AuthState<Name extends string = string> {
  auth: Principal<Name>
}

/** The type of `ctx.state` behind `optionalAuth`. */
export interface OptionalAuthState<Name extends string = string> {
  auth: Principal<Name> | undefined
}

/**
 * Lets a request through when its bearer token is good and the user may do what is asked, with the principal in
 * `ctx.state.auth`. Answers 401 or 403 otherwise, in the service's error shape. It verifies by itself, so it needs no
 * middleware before it, and believes none.
 */
export function requireAuth<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardContext<unknown>> = {},
): KoaGuard<AuthState<Name>> {
  return guardWith(admitAuthorized(auth, requirements))
}

/** Lets a request without a bearer token through, without `ctx.state.auth`; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(
  auth: Auth<Name>,
  options: GuardOptions<GuardContext<unknown>> = {},
): KoaGuard<OptionalAuthState<Name>> {
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
      // From `ctx.state.auth.assert(…)` in a handler. Other errors, of other tokens say, are the app's to answer.
      if (!AuthError.is(error, 'PERMISSION_DENIED')) throw error
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
