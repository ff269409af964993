import type { Context } from 'koa'

/**
 * Answers with JSON. Koa gets the text: of an object it asks whether it is a `Response`, and naming that
 * class loads all of fetch, which is 8 MB.
 */
export function sendJson(ctx: Context, body: object): void {
  ctx.set('Content-Type', 'application/json; charset=utf-8')
  ctx.body = JSON.stringify(body)
}
