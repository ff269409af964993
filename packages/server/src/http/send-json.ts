import type { Context } from 'koa'

/**
 * Answers with JSON. Koa gets text, not an object: it would check whether the object is a `Response`, and naming that class loads
 * all of fetch, which takes 8 MB.
 */
export function sendJson(ctx: Context, body: object): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8')
  ctx.body = JSON.stringify(body)
}
