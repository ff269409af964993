import type { IncomingMessage, ServerResponse } from 'node:http'
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

/** What `createServer` takes. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Puts a guard before a handler, which runs for those alone who may pass: `createServer(guard(handler))`. */
export type NodeGuard = (handler: (request: IncomingMessage, response: ServerResponse) => unknown) => NodeListener

/**
 * Guards handlers of `node:http`. A request reaches the handler when its bearer token is good and the user may do what is asked;
 * `getAuth(request)` gives the principal there. Answers 401 or 403 otherwise, in the service's error shape. It verifies by
 * itself, so it needs nothing before it, and believes nothing. What the handler throws is thrown, but for a failed
 * `getAuth(request).assert(…)`, which is answered with 403.
 */
export function requireAuth<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, IncomingMessage> = {},
): NodeGuard {
  return guardWith(admitAuthorized(auth, requirements))
}

/** Lets a request without a bearer token through, for which `getAuth(request)` is undefined; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(auth: Auth<Name>, options: GuardOptions<IncomingMessage> = {}): NodeGuard {
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
        // Other errors, of other tokens say, are the app's to answer, and so is an answer that has begun.
        if (!AuthError.is(error, 'PERMISSION_DENIED') || response.headersSent) throw error
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
