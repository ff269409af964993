import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Auth } from './auth.ts'
import { type Admit, admitAnyone, admitAuthorized, checkHandler, refusalFor } from './guard.ts'
import type { Principal, TokenKind } from './principal.ts'
import { setAuth } from './request-auth.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export { getAuth } from './request-auth.ts'
export type { GuardOptions, Requirements } from './requirements.ts'

/** A listener for `createServer`. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Puts a guard before a handler, so that it runs only for requests that may pass: `createServer(guard(handler))`. */
export type NodeGuard = (handler: (request: IncomingMessage, response: ServerResponse) => unknown) => NodeListener

/**
 * Guards handlers of `node:http`. It lets a request through if its bearer token is valid and meets the requirements;
 * `getAuth(request)` then returns the principal. Otherwise it answers 401 or 403 in the service's error shape, or 503 if
 * revocations cannot be checked. It also answers a failed `getAuth(request).assert(…)` in the handler with 403, and a failed
 * `assertFreshProof` with 401, and rethrows every other error. It verifies the token itself: it needs no other check before it,
 * and trusts none. Throws `CONFIG_INVALID` for a misspelt requirement.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { createAuth } from '@gatehouse/sdk'
 * import { getAuth, requireAuth } from '@gatehouse/sdk/node'
 *
 * const guard = requireAuth(createAuth(), { permissions: ['invoices:read'] })
 * createServer(guard((request, response) => response.end(getAuth(request).userId))).listen(8080)
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, IncomingMessage, Kind> = {},
): NodeGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/**
 * Like `requireAuth`, but a request without a bearer token passes: `getAuth(request)` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * createServer(optionalAuth(auth)((request, response) => response.end(getAuth<string, undefined>(request)?.userId ?? 'nobody')))
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<IncomingMessage, Kind> = {},
): NodeGuard {
  return guardWith(admitAnyone(auth, options))
}

function guardWith(admit: Admit<Principal | undefined>): NodeGuard {
  return (handler) => {
    checkHandler(handler)
    return async (request, response) => {
      try {
        setAuth(request, await admit(request))
      } catch (error) {
        return refuse(error, request, response)
      }
      try {
        await handler(request, response)
      } catch (error) {
        // The app answers other errors, such as those about other tokens, and completes an answer that has begun.
        if (!isRefusedByHandler(error) || response.headersSent) throw error
        refuse(error, request, response)
      }
    }
  }
}

function refuse(error: unknown, request: IncomingMessage, response: ServerResponse): void {
  const refusal = refusalFor(error, response.getHeader('X-Request-Id'), request.headers['x-request-id'])
  if (refusal === undefined) throw error
  const { status, headers, body } = refusal
  response.writeHead(status, { ...headers, 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}
