import type { Context } from 'koa'
import type { Deps } from '../deps.ts'
import type { Route } from './route.ts'

/** Whether pages of other origins may call a route. */
export function isOpenToBrowsers({ cors, speaks, method, auth }: Route): boolean {
  return cors ?? (speaks !== 'page' && (auth === 'user' || (auth === 'public' && method === 'POST')))
}

const preflightSeconds = 600
const mostOriginsLogged = 100
const anyMethod = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * CORS for browsers: `*` unless AUTH_CORS_ORIGINS narrows it. The service uses no cookies, so it allows no credentials. Answers a
 * preflight with the methods of its path, and puts the headers on every other answer, errors too. Logs each origin that it refuses
 * once: the browser does not tell the page why its call failed.
 */
export function createCors({ config, logger }: Deps): (ctx: Context, methods: string[] | undefined) => 'answered' | undefined {
  const origins = config.corsOrigins
  const anyOrigin = origins.includes('*')
  const own = new URL(config.publicUrl).origin
  const logged = new Set<string>([own, 'null', ''])
  const logOnce = (origin: string) => {
    if (logged.size > mostOriginsLogged || logged.has(origin)) return
    logged.add(origin)
    logger.warn({ origin: origin.slice(0, 200) }, 'a page of this origin was refused: AUTH_CORS_ORIGINS does not list it')
  }
  return (ctx, methods = anyMethod) => {
    const origin = ctx.get('Origin')
    if (!anyOrigin) ctx.vary('Origin')
    if (!anyOrigin && !origins.includes(origin)) {
      logOnce(origin)
      return undefined
    }
    ctx.set('Access-Control-Allow-Origin', anyOrigin ? '*' : origin)
    ctx.set('Access-Control-Expose-Headers', 'X-Request-Id, Retry-After, WWW-Authenticate')
    if (ctx.method !== 'OPTIONS' || ctx.get('Access-Control-Request-Method') === '') return undefined
    ctx.set('Access-Control-Allow-Methods', methods.join(', '))
    ctx.set('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Request-Id')
    ctx.set('Access-Control-Max-Age', String(preflightSeconds))
    ctx.status = 204
    return 'answered'
  }
}
