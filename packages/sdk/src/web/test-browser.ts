import { type IncomingMessage, request as sendRequest } from 'node:http'
import { vi } from 'vitest'

// A browser without scripts: it keeps the cookies of one origin, and says where a request comes from.

export type App = (request: Request) => Promise<Response>

export interface Browser {
  readonly jar: Map<string, string>
  /** Every `Set-Cookie` header that came. */
  readonly received: string[]
  /** Opens a page, as a user who clicks on a link. */
  open(path: string, headers?: Record<string, string>): Promise<Response>
  /** Sends a form from a page of the same origin. */
  send(path: string, headers?: Record<string, string>): Promise<Response>
  /** Calls the app as a script of the same origin. */
  call(path: string, init?: RequestInit): Promise<Response>
  /** Opens a page, and follows redirects until a page is shown. */
  follow(path: string): Promise<Response>
}

export const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
export const form = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'same-origin' }
export const script = { 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty', 'sec-fetch-site': 'same-origin' }

/** Lists the grants that an app asks the service for. Call it before `createAuth`. `before` runs before each goes out. */
export function watchTokenCalls(before: () => unknown = () => {}): string[] {
  const calls: string[] = []
  const real = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    if (String(input).endsWith('/oauth/token')) {
      calls.push(new URLSearchParams(String(init?.body)).get('grant_type') ?? '')
      await before()
    }
    return real(input, init)
  })
  return calls
}

/** Sends the headers of a browser, which `fetch` replaces by its own. */
export async function sendOverHttp(request: Request): Promise<Response> {
  const options = { method: request.method, headers: Object.fromEntries(request.headers) }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    sendRequest(request.url, options, resolve).on('error', reject).end()
  })
  let body = ''
  for await (const chunk of answer.setEncoding('utf8')) body += chunk
  const headers = new Headers()
  for (const [name, values = []] of Object.entries(answer.headersDistinct))
    for (const value of values) headers.append(name, value)
  return new Response(body || null, { status: answer.statusCode ?? 0, headers })
}

export function openBrowser(app: App, origin: string): Browser {
  const jar = new Map<string, string>()
  const received: string[] = []
  const ask = async (url: string, init: RequestInit) => {
    const headers = new Headers(init.headers)
    if (jar.size > 0) headers.set('cookie', [...jar].map((pair) => pair.join('=')).join('; '))
    const response = await app(new Request(new URL(url, origin), { ...init, headers }))
    for (const line of response.headers.getSetCookie()) {
      received.push(line)
      const [, name = '', value = ''] = /^([^=]*)=([^;]*)/.exec(line) ?? []
      if (/; Max-Age=0/.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }
  const open = (path: string, headers = {}) => ask(path, { headers: { ...navigation, ...headers } })
  return {
    jar,
    received,
    open,
    send: (path, headers = {}) => ask(path, { method: 'POST', headers: { ...form, ...headers } }),
    call: (path, init = {}) => ask(path, { ...init, headers: { ...script, ...Object.fromEntries(new Headers(init.headers)) } }),
    async follow(path) {
      for (let url = new URL(path, origin); ; ) {
        const response = url.origin === origin ? await open(url.href) : await fetch(url, { redirect: 'manual' })
        const location = response.headers.get('location')
        if (location === null) return response
        url = new URL(location, url)
      }
    },
  }
}
