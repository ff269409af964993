import type { Auth } from './auth.ts'
import { AuthError } from './errors.ts'
import {
  type Admit,
  admitAnyone,
  admitAuthorized,
  checkHandler,
  type GuardOptions,
  type Requirements,
  refusalFor,
} from './guard.ts'
import type { Principal } from './principal.ts'
import { setAuth } from './request-auth.ts'

export type { GuardOptions, Requirements } from './guard.ts'
export { getAuth } from './request-auth.ts'

/** What Next.js hands a route handler beside the request. */
export interface RouteContext {
  readonly params: Promise<Readonly<Record<string, string | string[] | undefined>>>
}

/**
 * Puts a guard before a route handler, or before what the middleware answers. It gives what Next.js takes: the handler's answer, or
 * the refusal.
 */
export type NextGuard = <Incoming extends Request = Request, Context = RouteContext, Answer = Response>(
  handler: (request: Incoming, context: Context) => Answer | Promise<Answer>,
) => (request: Incoming, context: Context) => Promise<Answer | Response>

/**
 * Guards route handlers (`export const GET = requireAuth(auth)(async (request) => …)`) and the middleware
 * (`export default requireAuth(auth)(() => NextResponse.next())`). A request reaches the handler when its bearer token is good and
 * the user may do what is asked; `getAuth(request)` gives the principal there. Answers 401 or 403 otherwise, in the service's
 * error shape. It verifies by itself: a route handler needs no middleware before it, and believes none.
 */
export function requireAuth<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, Request> = {},
): NextGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/** Lets a request without a bearer token through, for which `getAuth(request)` is undefined; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(auth: Auth<Name>, options: GuardOptions<Request> = {}): NextGuard {
  return guardWith(admitAnyone(auth, options))
}

function guardWith(admit: Admit<Principal | undefined>): NextGuard {
  return (handler) => {
    checkHandler(handler)
    return async (request, context) => {
      try {
        setAuth(request, await admit(request))
      } catch (error) {
        return refuse(error, request)
      }
      try {
        return await handler(request, context)
      } catch (error) {
        // From `getAuth(request).assert(…)`. Other errors are for Next.js, also those by which it redirects.
        if (!AuthError.is(error, 'PERMISSION_DENIED')) throw error
        return refuse(error, request)
      }
    }
  }
}

function refuse(error: unknown, { headers }: Request): Response {
  const refusal = refusalFor(error, undefined, headers.get('X-Request-Id'))
  if (refusal === undefined) throw error
  const { status, headers: challenge, body } = refusal
  const type = { 'content-type': 'application/json; charset=utf-8' }
  return new Response(JSON.stringify(body), { status, headers: { ...challenge, ...type } })
}
