import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Principal } from '../principal.ts'
import { setAuth } from '../request-auth.ts'
import type { Requirements } from '../requirements.ts'
import { type Answer, type Incoming, UNCACHED } from './incoming.ts'
import type { Judge, Loaded, SessionCore } from './session.ts'

/** The part of Koa's context that a session uses. */
interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  // biome-ignore lint/suspicious/noExplicitAny: the app says what its state is
  readonly state: any
  status: number
  body: unknown
  append(name: string, value: string): unknown
  set(headers: Record<string, string>): unknown
}

/** The parts of Fastify's request and reply that a session uses. */
interface FastifyRequest {
  readonly raw: IncomingMessage
}
interface FastifyReply {
  readonly raw: ServerResponse
  code(status: number): unknown
  header(name: string, value: string): unknown
  headers(headers: Record<string, string>): unknown
  send(body: string): unknown
}

type ExpressCall = [request: IncomingMessage & { originalUrl?: string }, response: ServerResponse, next?: Next]
type KoaCall = [context: KoaContext, next: () => Promise<unknown>]
type FastifyCall = [request: FastifyRequest, reply: FastifyReply]
/** How one of the frameworks calls the middleware. */
export type NodeCall = ExpressCall | KoaCall | FastifyCall
type Next = (error?: unknown) => unknown

/** Middleware for Express and Connect, for Koa, and a hook for Fastify (`onRequest`). */
export interface NodeMiddleware {
  (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => unknown): Promise<unknown>
  (context: KoaContext, next: () => Promise<unknown>): Promise<unknown>
  (request: FastifyRequest, reply: FastifyReply): Promise<unknown>
}

/** The form of a session for Express, Fastify, Koa and `node:http`. */
export interface NodeSession<Name extends string = string> {
  /**
   * Answers the paths to sign in and out. For every other request, renews the session if it is due; `getAuth(request)` then returns
   * the principal, or undefined if nobody is signed in (Koa: `ctx.state.auth`). Use it before the routes:
   * `app.use(session.node.handle)`, Fastify: `app.addHook('onRequest', session.node.handle)`.
   */
  readonly handle: NodeMiddleware
  /**
   * Lets a request through if somebody is signed in and meets the requirements. Otherwise it leads a browser to sign in, and
   * answers a script with 401 or 403 in the service's error shape. Throws `CONFIG_INVALID` for a misspelt requirement.
   */
  requireSession(requirements?: Requirements<NoInfer<Name>, IncomingMessage, 'user'>): NodeMiddleware
}

export async function handleNode<Name extends string>(core: SessionCore<Name>, given: NodeCall): Promise<unknown> {
  return run(given, async (incoming, exchange) => {
    const answer = await core.answerSignIn(incoming)
    if (answer) return answer
    const loaded = await core.loadForAll(incoming, exchange.request)
    exchange.hand(loaded)
    exchange.admit(loaded.principal)
    return undefined
  })
}

export async function guardNode<Name extends string>(
  core: SessionCore<Name>,
  judge: Judge<Name, IncomingMessage>,
  given: NodeCall,
): Promise<unknown> {
  const step: Step = async (incoming, exchange) => {
    const found = await judge(incoming, exchange.request, exchange.request)
    // `handle` may not have run before.
    exchange.hand(await core.loadForAll(incoming, exchange.request))
    if ('status' in found) return found
    exchange.admit(found)
    return undefined
  }
  return run(given, step, (incoming, error) => core.refuse(incoming, error, true))
}

/** A request in the terms of its framework. */
interface Exchange {
  readonly request: ExpressCall[0]
  admit(principal: Principal | undefined): void
  /** Adds the cookies to the answer of the app. */
  hand(loaded: Loaded): void
  answer(answer: Answer): unknown
  next(error?: unknown): unknown
}

type Step = (incoming: Incoming, exchange: Exchange) => Promise<Answer | undefined>

async function run(
  given: NodeCall,
  step: Step,
  refuse?: (incoming: Incoming, error: unknown) => Promise<Answer>,
): Promise<unknown> {
  const exchange = exchangeOf(given)
  const { request } = exchange
  const { method = 'GET', headers, url = '/', originalUrl = url } = request
  const header = (name: string) => headers[name]?.toString()
  const incoming = { method, url: originalUrl, header }
  let answer: Answer | undefined
  try {
    answer = await step(incoming, exchange)
  } catch (error) {
    return exchange.next(error)
  }
  if (answer) return exchange.answer(answer)
  try {
    return await exchange.next()
  } catch (error) {
    // A failed `ctx.state.auth.assert(…)` in a handler of Koa.
    if (!refuse) throw error
    return exchange.answer(await refuse(incoming, error))
  }
}

const handed = new WeakSet<object>()

const isOfKoa = (given: NodeCall): given is KoaCall => 'req' in given[0] && 'append' in given[0]
const isOfFastify = (given: NodeCall): given is FastifyCall => 'raw' in given[1]

/** The request, the response and what goes on after the middleware. Fastify goes on when the promise resolves. */
function expressCallOf(given: NodeCall): ExpressCall {
  if (isOfKoa(given)) return [given[0].req, given[0].res, given[1]]
  return isOfFastify(given) ? [given[0].raw, given[1].raw] : given
}

function exchangeOf(given: NodeCall): Exchange {
  const koa = isOfKoa(given) ? given[0] : undefined
  const reply = !isOfKoa(given) && isOfFastify(given) ? given[1] : undefined
  const [request, response, next] = expressCallOf(given)
  const setCookie = (value: string) => {
    if (koa) koa.append('set-cookie', value)
    else if (reply) reply.header('set-cookie', value)
    else response.appendHeader('set-cookie', value)
  }
  return {
    request,
    admit(principal) {
      setAuth(given[0], principal)
      if (koa) koa.state.auth = principal
    },
    hand(loaded) {
      const { cookies, cookieAfter } = loaded
      if (cookieAfter !== undefined) request.headers.cookie = cookieAfter
      if (cookies.length === 0 || handed.has(response)) return
      handed.add(response)
      for (const cookie of cookies) setCookie(cookie)
      adjustHead(response, () => (loaded.cookies.length > 0 ? [] : cookies))
    },
    answer({ status, headers, cookies, body }) {
      for (const cookie of cookies) setCookie(cookie)
      if (koa) {
        koa.set({ ...headers })
        koa.status = status
        koa.body = body
        return undefined
      }
      if (reply) {
        reply.code(status)
        reply.headers({ ...headers })
        reply.send(body)
        return reply
      }
      response.statusCode = status
      for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
      response.end(body)
      return undefined
    },
    next(error) {
      if (!error) return next?.()
      if (koa || !next) throw error
      return next(error)
    },
  }
}

/**
 * When the head is written, overrides what the app says about caching, such as middleware for static files, and leaves out the
 * cookies of a session that has ended since: `stale` returns them.
 */
function adjustHead(response: ServerResponse, stale: () => readonly string[]): void {
  const { writeHead } = response
  response.writeHead = (status: number, ...rest: unknown[]) => {
    const gone = stale()
    const lasting = (cookies: unknown) =>
      [cookies ?? []]
        .flat()
        .map(String)
        .filter((cookie) => !gone.includes(cookie))
    const headers = rest.at(-1)
    if (typeof headers === 'object' && headers !== null && !Array.isArray(headers))
      rest[rest.length - 1] = Object.fromEntries(
        Object.entries(headers).flatMap(([name, value]) => {
          if (/^cache-control$/i.test(name)) return []
          return [[name, /^set-cookie$/i.test(name) ? lasting(value) : value]]
        }),
      )
    if (gone.length > 0) response.setHeader('set-cookie', lasting(response.getHeader('set-cookie')))
    for (const [name, value] of Object.entries(UNCACHED)) response.setHeader(name, value)
    return Reflect.apply(writeHead, response, [status, ...rest])
  }
}
