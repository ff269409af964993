import { randomUUID } from 'node:crypto'
import type { Context, Middleware, Next } from 'koa'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import type { RequestOrigin } from '../lib/caller.ts'
import { clientAddress } from '../lib/client-address.ts'
import { LazyLogger } from '../lib/lazy-logger.ts'
import { readTraceparent } from '../lib/trace-context.ts'

declare module 'koa' {
  interface DefaultState {
    origin: RequestOrigin
    lineFields: LineFields
  }
}

/** The fields of every log line of a request: its id, and its place in the trace of its caller if it sent one. */
interface LineFields {
  request_id: string
  trace_id?: string
  span_id?: string
}

const requestIdForm = /^[A-Za-z0-9._-]{1,128}$/
const maxUserAgentLength = 500
const maxPathLength = 500

/** Returns dependencies for the work of one request. Every line that they log names the request. */
export function naming(deps: Deps<Pool>, ctx: Context): Deps<Pool> {
  return { ...deps, logger: new LazyLogger(deps.logger, ctx.state.lineFields) }
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
