import { pipeline, type Readable, Stream } from 'node:stream'
import type { Context } from 'koa'
import type { Counted } from '../../adapters/metrics.ts'
import { ApiError, errorCodes, ownBodyOf, type ShownCode, wordOf } from '../../errors.ts'
import type { SetCookies } from '../../lib/cookies.ts'
import { DatabaseUnavailableError, HashQueueFullError } from '../../lib/unavailable.ts'
import { isForeignKeyViolation } from '../../lib/violations.ts'

const retryAfterSeconds = 2
const lastWordsMs = 500

/** An answer to a request. */
export interface Reply {
  status: number
  /** An object is sent as JSON, text and bytes as they are. */
  body?: unknown
  headers?: Record<string, string>
  /** Seconds; sent as `Retry-After`. */
  retryAfter?: number | undefined
  /** Sent instead of a body, as the data arrives. */
  stream?: Readable
  /** Only those that the route declares are set. */
  cookies?: SetCookies | undefined
  /** The code of the error that the answer shows, if it is one, for the log. */
  errorCode?: ShownCode | undefined
  /** What a page has ended, or refused with that code. */
  counted?: Counted | undefined
}

/** Sends a reply. */
export function say(ctx: Context, { status, body, headers, retryAfter, stream, errorCode, counted }: Reply): void {
  ctx.state.errorCode = errorCode
  ctx.state.counted = counted
  ctx.status = status
  const { Vary: vary, ...others } = headers ?? {}
  ctx.set(others)
  // What else it varies with is known already.
  if (vary !== undefined) ctx.vary(vary)
  // Whole seconds, at least one.
  if (retryAfter !== undefined) ctx.set('Retry-After', String(Math.max(1, Math.ceil(retryAfter))))
  if (stream) sendEvents(ctx, stream)
  else if (isJson(body)) {
    ctx.set('Content-Type', 'application/json; charset=utf-8')
    // Koa gets text: it would check whether an object is a `Response`, and naming that class loads all of fetch
    // (http/connections.ts).
    ctx.body = JSON.stringify(body)
  } else ctx.body = body ?? null
  // Koa turns a null body into 204, so set the status of a response without a body again.
  ctx.status = status
}

/** Whether a body is neither text nor bytes. */
function isJson(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Buffer.isBuffer(body) && !(body instanceof Stream)
}

/** Writes a stream of events as they arrive. It bypasses Koa, which would log each consumer that disconnects as an error. */
function sendEvents(ctx: Context, stream: Readable): void {
  ctx.set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'X-Accel-Buffering': 'no' })
  ctx.respond = false
  ctx.res.flushHeaders()
  // The consumer may have disconnected while it was being looked up.
  if (ctx.method === 'HEAD' || ctx.res.destroyed) stream.destroy()
  // A reader that takes nothing must not hold up the end of the stream.
  stream.once('end', () => setTimeout(() => ctx.res.destroy(), lastWordsMs).unref())
  if (!ctx.res.destroyed) pipeline(stream, ctx.res, () => {})
}

/** Whether a retry may succeed. After a foreign key violation, the retry reports what was deleted while the request ran. */
function isUnavailable(error: unknown): boolean {
  return error instanceof DatabaseUnavailableError || error instanceof HashQueueFullError || isForeignKeyViolation(error)
}

/** Converts any thrown value to the error that the caller gets. An unknown one becomes a 500 without details. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  if (isUnavailable(error)) return new ApiError('unavailable', { retryAfter: retryAfterSeconds, cause: error })
  const status = error instanceof Error && 'status' in error ? error.status : undefined
  if (status === 413) return new ApiError('payload_too_large', { cause: error })
  if (status === 415) return new ApiError('unsupported_media_type', { cause: error })
  if (status === 400) return new ApiError('invalid_json', { cause: error })
  return new ApiError('internal_error', { cause: error })
}

/** An error as JSON, with the members of RFC 9457. */
export function errorAsJson(error: ApiError, requestId: string): Reply {
  const { code, status, detail, errors, headers, retryAfter, members } = error
  const problem = {
    status,
    code: wordOf(code),
    title: errorCodes[code].title,
    detail: detail ?? null,
    ...(errors ? { errors } : {}),
    ...members,
    request_id: requestId,
  }
  return { status, body: ownBodyOf(code) ?? problem, headers: { ...challengeOf(error), ...headers }, retryAfter, errorCode: code }
}

/** RFC 6750: if the request had no token, the challenge names no error. */
function challengeOf({ status, code }: ApiError): Record<string, string> {
  if (status !== 401 || !code.startsWith('token_')) return {}
  const reason = code === 'token_missing' ? '' : `, error="invalid_token", error_description="${errorCodes[code].title}"`
  return { 'WWW-Authenticate': `Bearer realm="gatehouse"${reason}` }
}
