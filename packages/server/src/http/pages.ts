import type { Context, Middleware } from 'koa'
import type { Pool } from '../db/handle.ts'
import type { Deps } from '../deps.ts'
import { ApiError, errorCodes } from '../errors.ts'
import { html } from '../lib/html.ts'
import type { PageView } from '../lib/page-view.ts'
import type { AnsweringRoute } from './count-replies.ts'
import { errorHandler } from './error-handler.ts'
import type { PageReply, WebPage } from './page.ts'
import { pageHeaders, renderHelp } from './page-layout.ts'
import { readForm } from './request-body.ts'
import { naming } from './request-log.ts'
import type { RouterOptions } from './router.ts'
import { sendView } from './send-view.ts'
import { readQuery } from './url-encoded.ts'
import { validate } from './validate.ts'

const methods = ['GET', 'HEAD', 'POST']

/** Serves pages, and their errors as pages. Other paths go to the next middleware. A POST is limited like one under `/auth/`. */
export function servePages(
  deps: Deps<Pool>,
  pages: readonly WebPage[],
  options: Pick<RouterOptions, 'takeByAddress'>,
): Middleware {
  const byPath = new Map(
    pages.map((page) => {
      const refuse = errorHandler(deps, (ctx, error, requestId) => sendView(ctx, refusalView(page, error, requestId)))
      return [page.path, (ctx: Context) => refuse(ctx, () => answer(naming(deps, ctx), page, ctx, options))]
    }),
  )
  return async (ctx, next) => {
    const serve = byPath.get(ctx.path)
    if (!serve) return next()
    if (!methods.includes(ctx.method)) throw new ApiError('method_not_allowed', { headers: { Allow: methods.join(', ') } })
    ctx.state.route = { method: ctx.method === 'POST' ? 'POST' : 'GET', pattern: ctx.path } satisfies AnsweringRoute
    await serve(ctx)
  }
}

async function answer(
  deps: Deps<Pool>,
  page: WebPage,
  ctx: Context,
  options: Pick<RouterOptions, 'takeByAddress'>,
): Promise<void> {
  const { origin } = ctx.state
  if (ctx.method === 'POST') {
    await options.takeByAddress(deps, 'ip', origin.ip)
    const form = validate(page.form, await readForm(ctx))
    send(ctx, await page.submit(deps, { form, origin }))
  } else {
    const { token } = readQuery(ctx)
    send(ctx, await page.show(deps, { token: typeof token === 'string' ? token : '', origin }))
  }
}

function send(ctx: Context, reply: PageReply): void {
  if ('body' in reply) sendView(ctx, reply)
  else sendElsewhere(ctx, reply.redirectTo)
}

function sendElsewhere(ctx: Context, url: string): void {
  ctx.set({ ...pageHeaders(url), Location: url })
  ctx.body = null
  ctx.status = 303
}

/** One page for all links that do not work. Other errors get a page that says what to do. */
function refusalView(page: WebPage, error: ApiError, requestId: string): PageView {
  const { code, status, retryAfter } = error
  if (code === 'invalid_token' || code === 'invalid_invitation') {
    const why = 'It may have been used already, be too old, or have been replaced by a newer one.'
    return { status, title: 'This link does not work', body: html`<p>${why}</p>\n<p>${page.advice}</p>` }
  }
  const isOfForm = status < 500 && retryAfter === undefined
  const title = isOfForm ? 'This form cannot be read' : errorCodes[code].title
  const advice = isOfForm ? 'Open the link of the mail again.' : 'Wait a little, go back, and try again.'
  return { status, title, body: html`<p>${advice}</p>\n${renderHelp(requestId)}`, retryAfter }
}
