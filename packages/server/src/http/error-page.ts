import { errorCodes } from '../errors.ts'
import { html } from '../lib/html.ts'
import { type WriteError, writeError } from './error-handler.ts'
import { renderHelp } from './page-layout.ts'
import { prefersHtml } from './prefers-html.ts'
import { sendView } from './send-view.ts'

/** Sends an error as a page to a client that prefers HTML, such as a browser that opens a URL. Other clients get JSON. */
export const writeErrorOrPage: WriteError = (ctx, error, requestId) => {
  ctx.vary('Accept')
  if (!prefersHtml(ctx)) return writeError(ctx, error, requestId)
  const { code, status, retryAfter } = error
  const faults = error.errors?.map(({ path, message }) => `${path}: ${message}`)
  const advice = faults ?? [error.detail ?? 'Go back to where you came from, and try again']
  const body = html`${advice.map((line) => html`<p>${line}.</p>\n`)}${renderHelp(requestId)}`
  sendView(ctx, { status, title: errorCodes[code].title, body, retryAfter })
}
