// A browser without scripts: it keeps cookies, follows redirects within the service, and fills in forms.
import { createHash, randomBytes } from 'node:crypto'
import { PASSWORD } from './client.ts'
import type { Json, TestService } from './service.ts'

export interface Form {
  action: string
  /** The values that the form has when it is shown. */
  values: Record<string, string>
  /** Its buttons by their text, each with what it sends itself. */
  buttons: Map<string, Record<string, string>>
}

export interface Page {
  status: number
  url: string
  headers: Headers
  html: string
  title: string
  forms: Form[]
}

/** What a browser shows in the end: a page of the service, or the URL of an app that it was led to. */
export type Arrival = Page & { app?: URL }

export interface Visitor {
  readonly cookies: Map<string, string>
  /** The last `Set-Cookie` of each cookie. */
  readonly lines: Map<string, string>
  get(url: string, headers?: Record<string, string>): Promise<Arrival>
  /** Sends the form with this button, and these values in its fields. */
  send(page: Page, button: string, values?: Record<string, string>, headers?: Record<string, string>): Promise<Arrival>
  post(url: string, values: Record<string, string>, headers?: Record<string, string>): Promise<Response>
}

export function visit(service: { url: string }): Visitor {
  const cookies = new Map<string, string>()
  const lines = new Map<string, string>()
  const request = async (url: string, init: RequestInit = {}) => {
    const sent = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const reply = await fetch(url, { ...init, redirect: 'manual', headers: { ...(sent && { cookie: sent }), ...init.headers } })
    for (const line of reply.headers.getSetCookie()) {
      const [pair = ''] = line.split(';')
      const [name = '', value = ''] = pair.split(/=(.*)/s)
      lines.set(name, line)
      if (value === '' || /max-age=0|expires=thu, 01 jan 1970/i.test(line)) cookies.delete(name)
      else cookies.set(name, value)
    }
    return reply
  }
  const arrive = async (reply: Response, url: string, headers: Record<string, string>): Promise<Arrival> => {
    const location = reply.headers.get('location')
    if (location !== null) {
      const target = new URL(location, url)
      if (target.origin === new URL(service.url).origin && !target.searchParams.has('code'))
        return arrive(await request(target.href, { headers }), target.href, headers)
      return { ...pageOf(reply, url, ''), app: target }
    }
    return pageOf(reply, url, await reply.text())
  }
  const post = (
    url: string,
    values: Record<string, string>,
    headers: Record<string, string> = { 'sec-fetch-site': 'same-origin' },
  ) => request(url, { method: 'POST', body: new URLSearchParams(values), headers })
  return {
    cookies,
    lines,
    post,
    async get(path, headers = {}) {
      const url = new URL(path, service.url).href
      return arrive(await request(url, { headers }), url, headers)
    },
    async send(page, button, values = {}, headers = {}) {
      const form = page.forms.find(({ buttons }) => buttons.has(button))
      if (!form)
        throw new Error(`no button ${button} on ${page.title}: ${page.forms.flatMap(({ buttons }) => [...buttons.keys()])}`)
      const url = new URL(form.action, new URL(page.url, service.url)).href
      const reply = await post(
        url,
        { ...form.values, ...form.buttons.get(button), ...values },
        { 'sec-fetch-site': 'same-origin', ...headers },
      )
      return arrive(reply, url, headers)
    },
  }
}

function pageOf(reply: Response, url: string, html: string): Page {
  const attribute = (tag: string, name: string) => {
    const value = new RegExp(`\\b${name}="([^"]*)"`).exec(tag)?.[1]
    return value === undefined ? undefined : decode(value)
  }
  const forms = [...html.matchAll(/<form[^>]*action="([^"]*)"[^>]*>(.*?)<\/form>/gs)].map(([, action = '', inside = '']) => ({
    action: decode(action),
    values: Object.fromEntries(
      [...inside.matchAll(/<input([^>]*)>/g)].flatMap(([, attributes = '']) => {
        const isChoice = /type="(checkbox|radio)"/.test(attributes)
        if (isChoice && !/ checked/.test(attributes)) return []
        return [[attribute(attributes, 'name') ?? '', attribute(attributes, 'value') ?? '']]
      }),
    ),
    buttons: new Map(
      [...inside.matchAll(/<button([^>]*)>(.*?)<\/button>/gs)].map(([, attributes = '', text = '']) => {
        const name = attribute(attributes, 'name')
        return [decode(text), name === undefined ? {} : { [name]: attribute(attributes, 'value') ?? '' }]
      }),
    ),
  }))
  const title = decode(/<h1>(.*?)<\/h1>/s.exec(html)?.[1] ?? '')
  return { status: reply.status, url, headers: reply.headers, html, title, forms }
}

function decode(text: string): string {
  return text.replace(/&#(\d+);/g, (_, point: string) => String.fromCodePoint(Number(point))).replace(/&amp;/g, '&')
}

export interface AskedFor {
  /** The path and query of the authorization request. */
  path: string
  verifier: string
  redirectUri: string
  state: string
}

/** An authorization request for an app, with PKCE. A parameter that is undefined is left out. */
export function askFor(app: Json, parameters: Record<string, string | undefined> = {}): AskedFor {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('hex')
  const given: Record<string, string | undefined> = {
    client_id: app.code,
    redirect_uri: app.allowed_redirect_urls[0],
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state,
    ...parameters,
  }
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) if (value !== undefined) query.append(name, value)
  return { path: `/oauth/authorize?${query}`, verifier, redirectUri: given.redirect_uri ?? '', state }
}

/** Exchanges the code that an app was sent. */
export async function exchange(
  service: TestService,
  app: Json,
  asked: AskedFor,
  at: URL | undefined,
  changes: Record<string, string | undefined> = {},
) {
  const given: Record<string, string | undefined> = {
    grant_type: 'authorization_code',
    client_id: app.code,
    redirect_uri: asked.redirectUri,
    code: at?.searchParams.get('code') ?? '',
    code_verifier: asked.verifier,
    ...changes,
  }
  const body = new URLSearchParams()
  for (const [name, value] of Object.entries(given)) if (value !== undefined) body.append(name, value)
  const reply = await fetch(`${service.url}/oauth/token`, { method: 'POST', body })
  return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Json }
}

/** Signs in on the page with a password, as far as the page leads without a further question. */
export async function signInOnPage(visitor: Visitor, asked: AskedFor, email: string, values: Record<string, string> = {}) {
  const page = await visitor.get(asked.path)
  return visitor.send(page, 'Sign in', { email, password: PASSWORD, ...values })
}

/** How many sign-ins with a method the metrics of the service have counted so far, by outcome. */
export async function countedSignIns(service: TestService, method: string): Promise<Record<string, number>> {
  const { values } = await service.deps.metrics.logins.get()
  return Object.fromEntries(values.flatMap(({ labels, value }) => (labels.method === method ? [[labels.outcome, value]] : [])))
}
