import type { Context, Middleware, Next } from 'koa'
import type { Metrics } from '../adapters/metrics.ts'
import type { Deps } from '../deps.ts'

/** The method and path pattern of the route that answered, as declared. Set by `router.ts` and `pages.ts`. */
export interface AnsweringRoute {
  method: string
  pattern: string
}

declare module 'koa' {
  interface DefaultState {
    /** Unset if no route answered. */
    route?: AnsweringRoute
    /** The code of the error response, if it is one. */
    errorCode?: string | undefined
  }
}

const nowhere: AnsweringRoute = { method: 'none', pattern: 'none' }

/** The doors, each with the counter for it. */
const doors: Record<string, (metrics: Metrics, status: number, errorCode: string | undefined) => void> = {
  'POST /api/v1/auth/login': login('password'),
  'POST /api/v1/auth/magic-link/consume': login('magic_link'),
  'POST /api/v1/auth/sso/token': login('sso'),
  'POST /api/v1/auth/register': ({ registrations }, status, errorCode) =>
    registrations.inc({ outcome: errorCode ?? (status === 201 ? 'created' : 'existing') }),
  'POST /api/v1/auth/refresh': ({ refreshes }, _, errorCode) => refreshes.inc({ outcome: errorCode ?? 'success' }),
}

function login(method: 'password' | 'magic_link' | 'sso') {
  return ({ logins }: Metrics, _: number, errorCode: string | undefined) =>
    logins.inc({ method, outcome: errorCode ?? 'success' })
}

/** Counts every response by route, and the doors by outcome. Without a route, both labels are `none`, whatever was requested. */
export function countReplies({ metrics }: Deps): Middleware {
  return async (ctx: Context, next: Next) => {
    const started = performance.now()
    try {
      await next()
    } finally {
      const { method, pattern: route } = ctx.state.route ?? nowhere
      metrics.requests.inc({ method, route, status: `${Math.floor(ctx.status / 100)}xx` })
      metrics.requestSeconds.observe({ method, route }, (performance.now() - started) / 1_000)
      doors[`${method} ${route}`]?.(metrics, ctx.status, ctx.state.errorCode)
    }
  }
}
