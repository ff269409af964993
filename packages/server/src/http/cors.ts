import type { Context, Middleware, Next } from 'koa'
import type { Deps } from '../deps.ts'

const openToBrowsers = /^\/api\/v1\/(auth|organizations)(\/|$)/
const maxAgeSeconds = 600

/**
 * CORS for the calls that browsers make: `*` unless AUTH_CORS_ORIGINS narrows it. No cookie is ever used, so no
 * credentials are allowed. It stands around the error handler, so errors are readable too. `methodsOf` tells a path's methods.
 */
export function cors(deps: Deps, methodsOf: (path: string) => string[]): Middleware {
  const origins = deps.config.corsOrigins
  const anyOrigin = origins.includes('*')
  return async (ctx: Context, next: Next) => {
    if (!openToBrowsers.test(ctx.path)) return next()
    const origin = ctx.get('Origin')
    if (!anyOrigin) ctx.vary('Origin')
    if (anyOrigin || origins.includes(origin)) {
      ctx.set('Access-Control-Allow-Origin', anyOrigin ? '*' : origin)
      ctx.set('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, WWW-Authenticate')
      if (ctx.method === 'OPTIONS' && ctx.get('Access-Control-Request-Method') !== '') {
        const methods = methodsOf(ctx.path)
        ctx.set(
          'Access-Control-Allow-Methods',
          (methods.length > 0 ? methods : ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).join(', '),
        )
        ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Request-Id')
        ctx.set('Access-Control-Max-Age', String(maxAgeSeconds))
        ctx.status = 204
        return
      }
    }
    await next()
  }
}
