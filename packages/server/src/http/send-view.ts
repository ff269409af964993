import type { Context } from 'koa'
import type { PageView } from '../lib/page-view.ts'
import { pageHeaders, renderPage } from './page-layout.ts'
import { setRetryAfter } from './set-retry-after.ts'

/** Answers with a page. */
export function sendView(ctx: Context, view: PageView): void {
  ctx.set(pageHeaders(view.leadsTo))
  ctx.state.errorCode ??= view.errorCode
  setRetryAfter(ctx, view.retryAfter)
  ctx.status = view.status
  ctx.type = 'text/html; charset=utf-8'
  ctx.body = renderPage(view)
}
