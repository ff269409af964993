import { randomUUID } from 'node:crypto'
import type { Context, Middleware, Next } from 'koa'
import type { Counted, Metrics } from '../adapters/metrics.ts'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { RequestOrigin } from '../lib/caller.ts'
import { clientAddress } from '../lib/client-address.ts'
import { requestIdForm } from '../lib/fields.ts'
import { readTraceparent } from '../lib/logger.ts'
import type { Route } from './route.ts'

declare module 'koa' {
  interface DefaultState {
    origin: RequestOrigin
    lineFields: LineFields
    /** The route that answers, with its whole path as declared. Unset if there is none. */
    answering?: { route: Route; pattern: string }
    /** A form of another site, as far as it was read. Anybody can have written it. */
    foreignForm?: Record<string, unknown>
    /** The code of the error response, if it is one. */
    errorCode?: string | undefined
    /** What a page has ended or refused, to be counted. */
    counted?: Counted | undefined
  }
}

/** The fields of every log line of a request: its id, and its place in the trace of its caller if it sent one. */
interface LineFields {
  request_id: string
  trace_id?: string
  span_id?: string
}

const maxUserAgentLength = 500
const maxPathLength = 500

/** Returns dependencies for the work of one request. Every line that they log names the request. */
export function naming(deps: Deps<Pool>, ctx: Context): Deps<Pool> {
  return { ...deps, logger: deps.logger.child(ctx.state.lineFields) }
}

/** Sets the id and origin of each request and the headers of every response. Logs one line when the request is done. */
export function requestLog(deps: Deps): Middleware {
  // The line holds no secrets, and redacting it would cost more than writing it.
  const logger = deps.logger.child({}, { redact: [] })
  return async (ctx: Context, next: Next) => {
    const started = performance.now()
    const incoming = ctx.get('X-Request-Id')
    const origin: RequestOrigin = {
      ip: clientAddress(ctx.req.socket.remoteAddress, ctx.get('X-Forwarded-For'), deps.config.trustedProxies),
      userAgent: ctx.get('User-Agent').slice(0, maxUserAgentLength) || null,
      requestId: requestIdForm.test(incoming) ? incoming : randomUUID(),
      languages: ctx.get('Accept-Language'),
    }
    ctx.state.origin = origin
    ctx.state.lineFields = lineFields(origin.requestId, ctx.get('traceparent'))
    ctx.set('X-Request-Id', origin.requestId)
    ctx.set('X-Content-Type-Options', 'nosniff')
    try {
      await next()
    } finally {
      logger.info(
        {
          ...ctx.state.lineFields,
          method: ctx.method,
          // Without the query: links in mails carry tokens there.
          path: ctx.path.slice(0, maxPathLength),
          status: ctx.status,
          code: ctx.state.errorCode,
          ip: origin.ip,
          ms: Math.round((performance.now() - started) * 10) / 10,
        },
        'request',
      )
    }
  }
}

function lineFields(requestId: string, traceparent: string): LineFields {
  const trace = readTraceparent(traceparent)
  return { request_id: requestId, ...(trace && { trace_id: trace.traceId, span_id: trace.spanId }) }
}

/** The calls that are counted by outcome, each with its counter. */
const countedCalls: Record<string, (metrics: Metrics, status: number, errorCode: string | undefined) => void> = {
  'POST /api/v1/auth/login': login('password'),
  'POST /api/v1/auth/magic-link/consume': login('magic_link'),
  'POST /api/v1/auth/email-code/consume': login('email_code'),
  'POST /api/v1/auth/sso/token': login('sso'),
  'POST /api/v1/auth/register': ({ registrations }, status, errorCode) =>
    registrations.inc({ outcome: errorCode ?? (status === 201 ? 'created' : 'existing') }),
  'POST /api/v1/auth/refresh': ({ refreshes }, _, errorCode) => refreshes.inc({ outcome: errorCode ?? 'success' }),
}

function login(method: 'password' | 'magic_link' | 'email_code' | 'sso') {
  return ({ logins }: Metrics, _: number, errorCode: string | undefined) =>
    logins.inc({ method, outcome: errorCode ?? 'success' })
}

/** Counts what a page has ended or refused as the API counts it. */
function countOnPage({ logins, registrations }: Metrics, method: Counted, errorCode: string | undefined): void {
  if (method === 'registration') registrations.inc({ outcome: errorCode ?? 'created' })
  else logins.inc({ method, outcome: errorCode ?? 'success' })
}

/**
 * Counts every response by route, and some calls by outcome, on pages too. Without a route, both labels are `none`, whatever was
 * requested.
 */
export function countReplies({ metrics }: Deps): Middleware {
  return async (ctx: Context, next: Next) => {
    const started = performance.now()
    try {
      await next()
    } finally {
      const method = ctx.state.answering?.route.method ?? 'none'
      const route = ctx.state.answering?.pattern ?? 'none'
      metrics.requests.inc({ method, route, status: `${Math.floor(ctx.status / 100)}xx` })
      metrics.requestSeconds.observe({ method, route }, (performance.now() - started) / 1_000)
      if (ctx.status === 401 || ctx.status === 429) metrics.refusals.inc({ code: ctx.state.errorCode ?? 'none' })
      countedCalls[`${method} ${route}`]?.(metrics, ctx.status, ctx.state.errorCode)
      if (ctx.state.counted) countOnPage(metrics, ctx.state.counted, ctx.state.errorCode)
    }
  }
}
