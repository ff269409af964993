import { createRequire } from 'node:module'
import type KoaRouter from '@koa/router'
import type { Context } from 'koa'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError, fieldError } from '../errors.ts'
import { isSoundText } from '../lib/json.ts'
import { type AnswerOptions, answer } from './answer.ts'
import { naming } from './observe.ts'
import type { Route } from './route.ts'

// Loads the CommonJS build. The other build imports `node:http`; `http/connections.ts` says what that costs.
const Router: typeof KoaRouter = createRequire(import.meta.url)('@koa/router')

/** Routes and their path prefix. */
interface Mount {
  prefix: string
  routes: readonly Route[]
}

/** A path as declared, and the routes at it by method. */
interface Place {
  pattern: string
  routes: Map<string, Route>
  isOpen: boolean
}

/** Leads each request to its route. Paths that differ in case or in a slash at the end are different paths. */
export function createRouting(
  deps: Deps<Pool>,
  mounts: readonly Mount[],
  options: AnswerOptions,
): ReturnType<KoaRouter['routes']> {
  const places = placesOf(mounts)
  // An app can read the 404 of a path beside those that it may call.
  const openRoots = new Set(places.filter(({ isOpen }) => isOpen).map(({ pattern }) => rootOf(pattern)))
  const allowOrigin = createCors(deps)

  const arrive = async (ctx: Context, place: Place | undefined): Promise<void> => {
    const isOpen = place ? place.isOpen : openRoots.has(rootOf(ctx.path))
    const methods = place && [...place.routes.keys()]
    if (isOpen && allowOrigin(ctx, methods) === 'answered') return
    refuseSecondAuthorization(ctx)
    if (!place || !methods) throw new ApiError('not_found', { detail: `There is nothing at ${ctx.path.slice(0, 200)}` })
    const route = place.routes.get(ctx.method)
    if (!route) throw new ApiError('method_not_allowed', { headers: { Allow: methods.join(', ') } })
    ctx.state.answering = { route, pattern: place.pattern }
    await answer(naming(deps, ctx), route, ctx, options)
  }

  const router = new Router({ strict: true, sensitive: true })
  for (const place of places) {
    const path = place.pattern.replace(/\{(\w+)\}/g, ':$1')
    router.all(path, (ctx: Context) => arrive(ctx, isSoundPath(ctx.path) ? place : undefined))
  }
  findByName(router)
  const dispatch = router.routes()
  return (ctx) => dispatch(ctx, () => arrive(ctx, undefined))
}

/**
 * Lets the table find a path without parameters by its name. To match it against every path before it would cost more than the rest
 * of a short answer.
 */
function findByName(router: KoaRouter): void {
  const match = router.match.bind(router)
  const named = new Map(router.stack.filter(({ paramNames }) => paramNames.length === 0).map((layer) => [layer.path, layer]))
  router.match = (path, method) => {
    const layer = named.get(path)
    return layer ? { path: [layer], pathAndMethod: [layer], route: true } : match(path, method)
  }
}

/** Each path once. Those without parameters come first, so that a fixed word in the place of an id is not taken for an id. */
function placesOf(mounts: readonly Mount[]): Place[] {
  const places = new Map<string, Place>()
  for (const { prefix, routes } of mounts) {
    for (const route of routes) {
      const pattern = prefix + route.path
      const place = places.get(pattern) ?? { pattern, routes: new Map(), isOpen: false }
      places.set(pattern, place)
      place.routes.set(route.method, route)
      if (route.method === 'GET' && !route.navigation) place.routes.set('HEAD', route)
      place.isOpen ||= isOpenToBrowsers(route)
    }
  }
  const hasParams = ({ pattern }: Place) => pattern.includes('{')
  return [...places.values()].sort((a, b) => Number(hasParams(a)) - Number(hasParams(b)))
}

/** `/api/v1/auth/login` → `/api/v1/auth`. */
function rootOf(path: string): string {
  return path.split('/', 4).join('/')
}

function isSoundPath(path: string): boolean {
  try {
    return isSoundText(decodeURIComponent(path))
  } catch {
    return false
  }
}

const isAuthorization = /^authorization$/i

/** Refuses a second Authorization header: a proxy may have checked one while the service uses the other. */
function refuseSecondAuthorization(ctx: Context): void {
  // `rawHeaders` alternates names and values. `headers` keeps one of two, and `headersDistinct` would copy every header.
  const sent = ctx.req.rawHeaders.filter((text, index) => index % 2 === 0 && isAuthorization.test(text))
  if (sent.length > 1) throw fieldError('authorization', 'invalid_value', 'must be sent once')
}

/** Whether pages of other origins may call a route. */
export function isOpenToBrowsers({ cors, speaks, method, auth }: Route): boolean {
  return cors ?? (speaks !== 'page' && (auth === 'user' || (auth === 'public' && method === 'POST')))
}

const preflightSeconds = 600
const mostOriginsLogged = 100
const anyMethod = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']

/**
 * CORS for browsers: `*` unless AUTH_CORS_ORIGINS narrows it. These routes use no cookies, so it allows no credentials. Answers a
 * preflight with the methods of its path, and puts the headers on every other answer, errors too. Logs each origin that it refuses
 * once: the browser does not tell the page why its call failed.
 */
function createCors({ config, logger }: Deps): (ctx: Context, methods: string[] | undefined) => 'answered' | undefined {
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
