import type { Context, Middleware, Next } from 'koa'
import type { Deps } from '../deps.ts'
import { ApiError, type ErrorCode, errorCodes, ownBodyOf, wordOf } from '../errors.ts'
import { isForeignKeyViolation } from '../lib/foreign-key-violation.ts'
import { DatabaseUnavailableError, HashQueueFullError } from '../lib/unavailable.ts'
import { sendJson } from './send-json.ts'
import { setRetryAfter } from './set-retry-after.ts'

const retryAfterSeconds = 2

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

/** Writes an error as JSON, with the members of RFC 9457. */
export function writeError(ctx: Context, error: ApiError, requestId: string): void {
  const challenge = error.status === 401 && error.code.startsWith('token_') ? bearerChallenge(error.code) : {}
  ctx.status = error.status
  ctx.set({ ...challenge, ...error.headers })
  setRetryAfter(ctx, error.retryAfter)
  const problem = {
    status: error.status,
    code: wordOf(error.code),
    title: errorCodes[error.code].title,
    detail: error.detail ?? null,
    ...(error.errors ? { errors: error.errors } : {}),
    request_id: requestId,
  }
  sendJson(ctx, ownBodyOf(error.code) ?? problem)
}

/** RFC 6750: if the request had no token, the challenge names no error. */
function bearerChallenge(code: ErrorCode): Record<string, string> {
  const reason = code === 'token_missing' ? '' : `, error="invalid_token", error_description="${errorCodes[code].title}"`
  return { 'WWW-Authenticate': `Bearer realm="gatehouse"${reason}` }
}

/** Shows an error to the caller. */
export type WriteError = (ctx: Context, error: ApiError, requestId: string) => void

/** The one place where errors become HTTP responses, as JSON by default. Internal causes go to the log only. */
export function errorHandler(deps: Deps, write: WriteError = writeError): Middleware {
  return async (ctx: Context, next: Next) => {
    try {
      await next()
    } catch (thrown) {
      const error = toApiError(thrown)
      ctx.state.errorCode = error.code
      // A 503 without a cause is a decision of the service, such as to open no stream while it stops. The line of the request has it.
      if (error.status >= 500 && error.cause !== undefined) {
        deps.logger.error({ ...ctx.state.lineFields, code: error.code, err: error.cause }, 'request failed')
      }
      write(ctx, error, ctx.state.origin.requestId)
    }
  }
}
