import type { Auth } from './auth.ts'
import { type Admit, admitAnyone, admitAuthorized, refusalFor } from './guard.ts'
import type { Principal, TokenKind } from './principal.ts'
import { setAuth } from './request-auth.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export { getAuth } from './request-auth.ts'
export type { GuardOptions, Requirements } from './requirements.ts'

/** The part of Fastify's request that a guard reads. Neither Fastify nor its types are needed. */
export interface GuardRequest {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly raw: { readonly rawHeaders?: readonly string[] }
}

/** The part of Fastify's reply that a guard answers with. */
export interface GuardReply {
  getHeader(name: string): unknown
  code(status: number): unknown
  headers(values: Record<string, string>): unknown
  send(payload: string): unknown
}

export type FastifyGuard = (request: GuardRequest, reply: GuardReply) => Promise<unknown>

/**
 * Returns a hook for all routes (`app.addHook('onRequest', requireAuth(auth))`) or for one (its option `onRequest`). As
 * `onRequest` it refuses before the body is read; it works as `preHandler` too. It lets a request through if its bearer token is
 * valid and meets the requirements; `getAuth(request)` then returns the principal. Otherwise it answers 401 or 403 in the
 * service's error shape, or 503 if revocations cannot be checked. It verifies the token itself: it needs no hook before it, and
 * trusts none. Throws `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { getAuth, requireAuth } from '@gatehouse/sdk/fastify'
 * import fastify from 'fastify'
 *
 * const auth = createAuth()
 * const app = fastify()
 * app.get('/invoices', { onRequest: requireAuth(auth, { permissions: ['invoices:read'] }) }, async (request) => ({
 *   for: getAuth(request).userId,
 * }))
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, GuardRequest, Kind> = {},
): FastifyGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `getAuth(request)` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * app.addHook('onRequest', optionalAuth(auth))
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<GuardRequest, Kind> = {},
): FastifyGuard {
  return guardWith(admitAnyone(auth, options))
}

/**
 * Answers a failed `getAuth(request).assert(…)` in a handler with 403 and a failed `assertFreshProof` with 401, in the service's
 * error shape, and rethrows every other error: `app.setErrorHandler(authErrorHandler)`. Without it, Fastify answers 403 in its
 * own shape.
 *
 * @example
 * ```ts
 * app.setErrorHandler(authErrorHandler)
 * ```
 */
export function authErrorHandler(error: unknown, request: GuardRequest, reply: GuardReply): void {
  if (!isRefusedByHandler(error)) throw error
  refuse(error, request, reply)
}

function guardWith(admit: Admit<Principal | undefined>): FastifyGuard {
  return async (request, reply) => {
    try {
      setAuth(request, await admit({ headers: request.headers, rawHeaders: request.raw.rawHeaders }, request))
      return undefined
    } catch (error) {
      return refuse(error, request, reply)
    }
  }
}

function refuse(error: unknown, request: GuardRequest, reply: GuardReply): GuardReply {
  const refusal = refusalFor(error, reply.getHeader('X-Request-Id'), request.headers['x-request-id'])
  if (refusal === undefined) throw error
  reply.code(refusal.status)
  reply.headers({ ...refusal.headers, 'content-type': 'application/json; charset=utf-8' })
  // Sent as text: a response schema of the route, made for other bodies, would drop members.
  reply.send(JSON.stringify(refusal.body))
  return reply
}
