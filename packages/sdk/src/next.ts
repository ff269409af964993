/// <reference path="./next-peer.d.ts" />
import type { Auth } from './auth.ts'
import { AuthError } from './errors.ts'
import { type Admit, admitAnyone, admitAuthorized, checkHandler, refusalFor } from './guard.ts'
import type { Principal, TokenKind } from './principal.ts'
import { setAuth } from './request-auth.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export { getAuth } from './request-auth.ts'
export type { GuardOptions, Requirements } from './requirements.ts'

/**
 * For server components and server actions: the principal for the bearer token in the headers of the request. Undefined without a
 * valid token. Waits for the request with `connection()`, so Next.js never runs it while it prerenders; with Cache Components, the
 * component must be below a `<Suspense>`. Throws `REVOCATIONS_UNAVAILABLE` if revocations cannot be checked.
 *
 * @example
 * ```ts
 * export default async function Page() {
 *   const principal = await getPrincipal(auth)
 *   return principal ? `Signed in: ${principal.claims.email}` : 'Signed out'
 * }
 * ```
 */
export async function getPrincipal<Name extends string>(auth: Auth<Name>): Promise<Principal<Name> | undefined> {
  // Loaded here, because the guards also run where Next.js is not installed, as in unit tests.
  const [{ connection }, { headers }] = await Promise.all([import('next/server.js'), import('next/headers.js')])
  await connection?.()
  return auth.authenticate(await headers()).catch((error) => {
    if (AuthError.is(error) && error.status === 401) return undefined
    throw error
  })
}

/** What Next.js passes to a route handler besides the request. */
export interface RouteContext {
  readonly params: Promise<Readonly<Record<string, string | string[] | undefined>>>
}

/**
 * Puts a guard before a route handler or the middleware. The result resolves to the handler's answer or to the refusal. Throws
 * `CONFIG_INVALID` for a handler that is not a function.
 */
export type NextGuard = <Incoming extends Request = Request, Context = RouteContext, Answer = Response>(
  handler: (request: Incoming, context: Context) => Answer | Promise<Answer>,
) => (request: Incoming, context: Context) => Promise<Answer | Response>

/**
 * Guards route handlers (`export const GET = requireAuth(auth)(async (request) => …)`) and the middleware (`export default
 * requireAuth(auth)(() => NextResponse.next())`). It lets a request through if its bearer token is valid and meets the
 * requirements; `getAuth(request)` then returns the principal. Otherwise it answers 401 or 403 in the service's error shape, or
 * 503 if revocations cannot be checked. It also answers a failed `getAuth(request).assert(…)` in a handler with 403, and a failed
 * `assertFreshProof` with 401. It verifies the token itself: it needs no middleware before it, and trusts none. Throws
 * `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { getAuth, requireAuth } from '@gatehouse/sdk/next'
 *
 * const auth = createAuth({ lazy: true })
 * export const GET = requireAuth(auth, { permissions: ['invoices:read'] })(async (request) =>
 *   Response.json({ for: getAuth(request).userId }),
 * )
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, Request, Kind> = {},
): NextGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `getAuth(request)` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * export const GET = optionalAuth(auth)(async (request) =>
 *   Response.json({ signedIn: getAuth<string, undefined>(request) !== undefined }),
 * )
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<Request, Kind> = {},
): NextGuard {
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
        // A failed `getAuth(request).assert(…)`. Next.js handles all other errors, including those by which it redirects.
        if (!isRefusedByHandler(error)) throw error
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
