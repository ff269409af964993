import type { Context } from 'koa'

/** Sets `Retry-After`: whole seconds, at least one. Sets nothing without `seconds`. */
export function setRetryAfter(ctx: Context, seconds: number | undefined): void {
  if (seconds !== undefined) ctx.set('Retry-After', String(Math.max(1, Math.ceil(seconds))))
}
