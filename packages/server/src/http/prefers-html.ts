import type { Context } from 'koa'

/** Browsers send about 150 characters. */
const maxAcceptLength = 1_000

/**
 * Whether a client, such as a browser, would rather have HTML than JSON. A long `Accept` header is not parsed: Koa's parser takes
 * time that grows with the square of its length.
 */
export function prefersHtml(ctx: Context): boolean {
  return ctx.get('Accept').length <= maxAcceptLength && ctx.accepts('json', 'html') === 'html'
}
