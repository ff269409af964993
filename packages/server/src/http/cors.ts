import type { Context, Middleware, Next } from 'koa'
import type { Deps } from '../deps.ts'

const openToBrowsers = /^\/api\/v1\/(auth|organizations)(\/|$)/
const maxAgeSeconds = 600

/**
 * CORS for browsers: `*` unless AUTH_CORS_ORIGINS narrows it. The service uses no cookies, so it allows no credentials.
 * This wraps the error handler, so browsers can read errors too. `methodsOf` returns the methods of a path.
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
