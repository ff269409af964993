import {
  type ArgumentsHost,
  type CanActivate,
  createParamDecorator,
  type ExecutionContext,
  HttpException,
  type PipeTransform,
  type Type,
} from '@nestjs/common'
import { BaseExceptionFilter } from '@nestjs/core'
import type { Auth } from './auth.ts'
import { AuthError, configInvalid } from './errors.ts'
import { type Admit, admitAnyone, admitAuthorized, type GuardOptions, type Requirements, refusalFor } from './guard.ts'
import type { Principal } from './principal.ts'
import { getAuth, setAuth } from './request-auth.ts'

export type { GuardOptions, Requirements } from './guard.ts'

/** What Express and Fastify have in common of a request. */
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
 * A guard for `@UseGuards(requireAuth(auth))` or `app.useGlobalGuards(requireAuth(auth))`. Lets a request through when its bearer
 * token is good and the user may do what is asked; `@AuthPrincipal()` gives the principal to a handler. Answers 401 or 403
 * otherwise, in the service's error shape. It verifies by itself, so it needs no guard before it, and believes none. For HTTP
 * on Express or Fastify; it refuses every other transport.
 */
export function requireAuth<Name extends string>(
  auth: Auth<Name>,
  requirements: Requirements<NoInfer<Name>, HttpRequest> = {},
): CanActivate {
  return guardWith(admitAuthorized(auth, requirements))
}

/** Lets a request without a bearer token through, for which `@AuthPrincipal()` is undefined; a bad token is answered with 401. */
export function optionalAuth<Name extends string>(auth: Auth<Name>, options: GuardOptions<HttpRequest> = {}): CanActivate {
  return guardWith(admitAnyone(auth, options))
}

/**
 * The principal that a guard found, as a parameter of a handler: `find(@AuthPrincipal() principal: Principal)`. A pipe makes
 * something else of it: `@AuthPrincipal(LoadUser) user: User`.
 */
export const AuthPrincipal = (...pipes: (Type<PipeTransform> | PipeTransform)[]): ParameterDecorator => {
  // Many decorators pick a member by its name. This one would ignore the name and hand over the whole principal.
  if (!pipes.every(isPipe)) throw configInvalid('@AuthPrincipal() gives the whole principal, and takes nothing but pipes')
  return principalParameter(...pipes)
}

const isPipe = (pipe: Type<PipeTransform> | PipeTransform) =>
  typeof (typeof pipe === 'function' ? pipe.prototype : pipe)?.transform === 'function'

const principalParameter = createParamDecorator((_: unknown, context: ExecutionContext) => getAuth(partsOf(context).request))

/**
 * Answers `principal.assert(…)` that failed in a handler with 403 in the service's error shape, and every other error as Nest does:
 * `app.useGlobalFilters(new AuthErrorFilter(app.getHttpAdapter()))`. Without it Nest answers 500.
 */
export class AuthErrorFilter extends BaseExceptionFilter {
  override catch(exception: unknown, host: ArgumentsHost): void {
    const isDenied = AuthError.is(exception, 'PERMISSION_DENIED') && host.getType() === 'http'
    super.catch(isDenied ? toHttpException(exception, host) : exception, host)
  }
}

function guardWith(admit: Admit<Principal | undefined>): CanActivate {
  return {
    async canActivate(context) {
      const { request } = partsOf(context)
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
  // What another transport carries in the place of a request could be anything.
  if (host.getType() !== 'http') throw configInvalid(`guards of @gatehouse/sdk/nest are for HTTP, not for ${host.getType()}`)
  const http = host.switchToHttp()
  return { request: http.getRequest<HttpRequest>(), response: http.getResponse<HttpResponse>() }
}

/** As Nest's own filter answers it; the headers are set on the response. An error that is not about the caller stays as it is. */
function toHttpException(error: unknown, host: ArgumentsHost): unknown {
  const { request, response } = partsOf(host)
  const refusal = refusalFor(error, response.getHeader('X-Request-Id'), request.headers['x-request-id'])
  if (refusal === undefined) return error
  for (const [name, value] of Object.entries(refusal.headers)) response.header(name, value)
  return new HttpException({ ...refusal.body }, refusal.status, { cause: error })
}
