import {
  type ArgumentsHost,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  HttpException,
  type PipeTransform,
  SetMetadata,
  type Type,
} from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'
import type { Auth } from './auth.ts'
import { configInvalid } from './errors.ts'
import { type Admit, admitAnyone, admitAuthorized, refusalFor } from './guard.ts'
import type { Principal, TokenKind } from './principal.ts'
import { getAuth, setAuth } from './request-auth.ts'
import { type GuardOptions, isRefusedByHandler, type Requirements } from './requirements.ts'

export type { GuardOptions, Requirements } from './requirements.ts'

/** The part of a request that Express and Fastify have in common. */
export interface HttpRequest {
  readonly headers: { readonly [name: string]: string | string[] | undefined }
  readonly rawHeaders?: readonly string[]
  readonly raw?: { readonly rawHeaders?: readonly string[] }
}

interface HttpResponse {
  getHeader(name: string): unknown
  header(name: string, value: string): unknown
}

/**
 * Returns a guard for `@UseGuards(requireAuth(auth))` or `app.useGlobalGuards(requireAuth(auth))`. It lets a request through if
 * its bearer token is valid and meets the requirements; `@AuthPrincipal()` then passes the principal to a handler. Otherwise it
 * answers 401 or 403 in the service's error shape, or 503 if revocations cannot be checked. It verifies the token itself: it
 * needs no guard before it, and trusts none. For HTTP on Express or Fastify. Throws `CONFIG_INVALID` for a misspelt requirement,
 * and for a request on any other transport.
 *
 * @example
 * ```ts
 * import { createAuth } from '@gatehouse/sdk'
 * import { requireAuth } from '@gatehouse/sdk/nest'
 *
 * const auth = createAuth({ lazy: true })
 * app.useGlobalGuards(requireAuth(auth, { permissions: ['invoices:read'] }))
 * ```
 */
export function requireAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, HttpRequest, Kind> = {},
): CanActivate {
  const isPlain = Object.keys(requirements).every((name) => name === 'kind' || name === 'onRefused')
  return guardWith(admitAuthorized(auth, requirements), isPlain)
}

const publicKey = 'gatehouse.public'

/**
 * Opens a route, or all routes of a controller, that a guard of the app or of the controller would close, such as a health check. A
 * guard with requirements stays closed. `@AuthPrincipal()` is then undefined, whatever token comes.
 *
 * @example
 * ```ts
 * import { applyDecorators, Get } from '@nestjs/common'
 *
 * export const OpenRoute = (path: string) => applyDecorators(Get(path), Public())
 * ```
 */
export const Public = (): ClassDecorator & MethodDecorator => SetMetadata(publicKey, true)

/** Nest itself keeps what decorators say there. */
const reflected: object & { getMetadata?(key: string, target: unknown): unknown } = Reflect
const isPublic = (target: unknown): boolean => reflected.getMetadata?.(publicKey, target) === true

/**
 * Like `requireAuth`, but a request without a bearer token passes: `@AuthPrincipal()` is then undefined. A bad token gets 401.
 *
 * @example
 * ```ts
 * app.useGlobalGuards(optionalAuth(auth))
 * ```
 */
export function optionalAuth<Name extends string, Kind extends TokenKind = 'user'>(
  auth: Auth<Name>,
  options: GuardOptions<HttpRequest, Kind> = {},
): CanActivate {
  return guardWith(admitAnyone(auth, options))
}

/**
 * Passes the principal that a guard found to a parameter of a handler: `find(@AuthPrincipal() principal: Principal)`. A pipe can
 * turn it into something else: `@AuthPrincipal(LoadUser) user: User`. Throws `CONFIG_INVALID` for an argument that is not a pipe.
 *
 * @example
 * ```ts
 * export const CurrentUser = () => AuthPrincipal(LoadUser) // a pipe of yours, from the principal to your row
 * ```
 */
export const AuthPrincipal = (...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator => {
  // Many decorators take the name of a member. This one would ignore the name and pass the whole principal.
  if (!pipes.every(isPipe)) throw configInvalid('@AuthPrincipal() returns the whole principal and accepts only pipes')
  return principalParameter(...pipes)
}

const isPipe = (pipe: Type<PipeTransform> | PipeTransform) =>
  typeof (typeof pipe === 'function' ? pipe.prototype : pipe)?.transform === 'function'

const principalParameter = createParamDecorator((_: unknown, context: ExecutionContext) => getAuth(partsOf(context).request))

/**
 * Answers a failed `principal.assert(…)` in a handler with 403 and a failed `assertFreshProof` with 401, in the service's error
 * shape, and leaves every other error to Nest: `app.useGlobalFilters(new AuthErrorFilter(app.getHttpAdapter()))`. Without it,
 * Nest answers 500.
 *
 * @example
 * ```ts
 * app.useGlobalFilters(new AuthErrorFilter(app.getHttpAdapter()))
 * ```
 */
export class AuthErrorFilter extends BaseExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    const isDenied = isRefusedByHandler(exception) && host.getType() === 'http'
    super.catch(isDenied ? toHttpException(exception, host) : exception, host)
  }
}

function guardWith(admit: Admit<Principal | undefined>, mayBeOpened = false): CanActivate {
  return {
    async canActivate(context) {
      const { request } = partsOf(context)
      if (mayBeOpened && [context.getHandler(), context.getClass()].some(isPublic)) {
        setAuth(request, undefined)
        return true
      }
      try {
        const { headers, rawHeaders = request.raw?.rawHeaders } = request
        setAuth(request, await admit({ headers, rawHeaders }, request))
        return true
      } catch (error) {
        throw toHttpException(error, context)
      }
    },
  }
}

function partsOf(host: ArgumentsHost): { request: HttpRequest; response: HttpResponse } {
  // Another transport could carry anything in place of a request.
  if (host.getType() !== 'http') throw configInvalid(`guards of @gatehouse/sdk/nest are for HTTP, not for ${host.getType()}`)
  const http = host.switchToHttp()
  return { request: http.getRequest<HttpRequest>(), response: http.getResponse<HttpResponse>() }
}

/**
 * Turns an error about the caller into one that Nest's own filter answers, and sets its headers on the response. Returns any
 * other error unchanged.
 */
function toHttpException(error: unknown, host: ArgumentsHost): unknown {
  const { request, response } = partsOf(host)
  const refusal = refusalFor(error, response.getHeader('X-Request-Id'), request.headers['x-request-id'])
  if (refusal === undefined) return error
  for (const [name, value] of Object.entries(refusal.headers)) response.header(name, value)
  return new HttpException({ ...refusal.body }, refusal.status, { cause: error })
}
