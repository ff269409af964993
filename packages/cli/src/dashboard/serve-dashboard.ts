import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Failure, systemCodeOf, toFailure } from '../command-line/exit-codes.ts'
import { portOf } from '../network/exchange-http.ts'
import { type HtmlPart, html } from '../text/html.ts'
import type { Asked } from './form.ts'
import { type PageName, renderDocument } from './layout.ts'
import { failureView, pages, type Source } from './pages.ts'
import { styleSource } from './style.ts'

const host = '127.0.0.1'

/** Sent with every answer, also with refusals. No CORS headers: browsers do not let other origins read the pages. */
const headers = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': `default-src 'none'; style-src ${styleSource}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
}

interface Answer {
  status: number
  text: string
  isPage?: boolean
  allow?: string
}

interface Dashboard extends Source {
  /** Which service it shows. */
  where: string
}

/**
 * Serves the pages on this machine only, and returns their URL. Other users of the machine can reach the port, so the path is a
 * secret. A page of another site can make a browser send requests here under another host name, so `Host` is checked too.
 */
export async function serveDashboard(dashboard: Dashboard, port: number): Promise<string> {
  const token = randomBytes(32).toString('base64url')
  const server = createServer((request, response) => {
    answer(request, { dashboard, token, authority: `${host}:${portOf(server)}` }).then(
      (reply) => send(response, reply),
      () => send(response, { status: 500, text: 'failed' }),
    )
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(portFailure(error, port)))
    server.listen(port, host, resolve)
  })
  return `http://${host}:${portOf(server)}/${token}/`
}

function portFailure(error: unknown, port: number): unknown {
  const code = systemCodeOf(error)
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return error
  return new Failure('invalid', `cannot listen on port ${port}: ${code}`, {
    code: 'port_unavailable',
    hint: 'choose another --port, or leave it out to use a free one',
  })
}

function send(response: ServerResponse, { status, text, isPage = false, allow }: Answer): void {
  response.writeHead(status, {
    ...headers,
    'Content-Type': `text/${isPage ? 'html' : 'plain'}; charset=utf-8`,
    ...(allow && { Allow: allow }),
  })
  response.end(text)
}

interface Guard {
  dashboard: Dashboard
  token: string
  /** The only `Host` that is accepted. */
  authority: string
}

/** The answer for every wrong host name and path. It is always the same, so that a caller cannot learn anything. */
const notFound: Answer = { status: 404, text: 'not found' }

async function answer(request: IncomingMessage, { dashboard, token, authority }: Guard): Promise<Answer> {
  const hosts = request.headersDistinct.host ?? []
  if (hosts.length !== 1 || hosts[0] !== authority) return notFound
  if (request.method !== 'GET') return { status: 405, text: 'only GET is allowed', allow: 'GET' }
  const [, path = '', search = ''] = /^\/([^?#]*)(?:\?([^#]*))?$/.exec(request.url ?? '') ?? []
  const [given = '', name, ...more] = path.split('/')
  if (!isSame(given, token) || name === undefined || more.length > 0 || !isPage(name)) return notFound
  return pageAnswer(dashboard, name, new URLSearchParams(search))
}

/** Compares digests. They all have the same length, and the time that it takes reveals nothing. */
function isSame(given: string, token: string): boolean {
  return timingSafeEqual(hash('sha256', given, 'buffer'), hash('sha256', token, 'buffer'))
}

function isPage(name: string): name is PageName {
  return Object.hasOwn(pages, name)
}

async function pageAnswer(dashboard: Dashboard, name: PageName, query: URLSearchParams): Promise<Answer> {
  const { fields, form, results } = pages[name]
  const asked = readFields(fields, query)
  const render = (body: HtmlPart) => renderDocument({ page: name, where: dashboard.where, body: html`${form(asked)}\n${body}` })
  try {
    return { status: 200, isPage: true, text: render(await results(dashboard, asked)) }
  } catch (thrown) {
    const failure = toFailure(thrown)
    return { status: statusOf(failure), isPage: true, text: render(failureView(failure)) }
  }
}

/** The fields of the page, without empty ones. */
function readFields(fields: readonly string[], query: URLSearchParams): Asked {
  return Object.fromEntries(fields.map((name) => [name, query.get(name)?.trim() ?? '']).filter(([, value]) => value !== ''))
}

function statusOf({ ending }: Failure): number {
  if (ending === 'invalid') return 400
  if (ending === 'notFound') return 404
  return ending === 'bug' ? 500 : 502
}
