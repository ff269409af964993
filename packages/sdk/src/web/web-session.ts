import type { Auth } from '../auth.ts'
import type { UserPrincipal } from '../principal.ts'
import { setAuth } from '../request-auth.ts'
import type { Requirements } from '../requirements.ts'
import { type Answer, type Incoming, UNCACHED } from './incoming.ts'
import type { NodeCall, NodeSession } from './node-form.ts'
import type { WebSessionOptions } from './options.ts'
import { type Loaded, SessionCore } from './session.ts'

/** Who is signed in, and with which token: `principal` is undefined if nobody is. */
export interface Session<Name extends string = string> {
  readonly principal: UserPrincipal<Name> | undefined
  /** The token for calls to other backends of this app. Never send it to the page. */
  readonly accessToken: string | undefined
  /** Add these to the answer: `Set-Cookie` where the session was renewed or has ended. Empty for a session without a request. */
  readonly headers: Headers
}

export type SessionHandler<Incoming extends Request, Context, Answer> = (
  request: Incoming,
  context: Context,
) => Answer | Promise<Answer>

/** The sessions of a server-rendered app, in encrypted cookies. You can call each function without the object. */
export interface WebSession<Name extends string = string> {
  /**
   * Answers the paths to sign in and out: `GET /login`, `GET /callback`, `POST /logout`, which ends the session of this app only,
   * and `POST /logout?browser`, which also signs out at the service. Resolves to undefined for every other request, or, with
   * `next`, to its answer: `next` gets the request with the session renewed if that was due, and its answer carries the cookies.
   */
  handle(request: Request): Promise<Response | undefined>
  handle<Incoming extends Request>(
    request: Incoming,
    next: (request: Incoming) => Response | Promise<Response>,
  ): Promise<Response>
  /**
   * Returns who is signed in. With a request, renews the session if that is due, and hands the cookies back in `headers`. With
   * headers alone, as in server components, no cookie can be set, so the session is not renewed: let `handle` run before.
   */
  getSession(of: Request | Headers): Promise<Session<Name>>
  /**
   * Guards a handler: `getAuth(request)` then returns the principal. A browser that opens a page is led to sign in and comes back;
   * a script gets 401, a lack of rights 403, and an unsafe request of another site 403, in the service's error shape. Throws
   * `CONFIG_INVALID` for a misspelt requirement.
   */
  requireSession(
    requirements?: Requirements<NoInfer<Name>, Request, 'user'>,
  ): <Incoming extends Request = Request, Context = unknown>(
    handler: SessionHandler<Incoming, Context, Response>,
  ) => (request: Incoming, ...context: unknown extends Context ? [context?: unknown] : [context: Context]) => Promise<Response>
  /** The same for Express, Fastify, Koa and `node:http`. */
  readonly node: NodeSession<Name>
}

/**
 * Creates the sessions of an app whose pages are rendered by a server. Users sign in on the page of the service; their tokens stay
 * in encrypted cookies, which no script can read. Throws `CONFIG_INVALID`, naming every setting that is wrong; with `lazy`, the
 * first request throws it.
 *
 * @example
 * const session = createWebSession(createAuth())
 * app.use(session.node.handle)
 * app.get('/', session.node.requireSession(), (request, response) => response.send(getAuth(request).claims.email))
 */
export function createWebSession<Name extends string = string>(
  auth: Auth<Name>,
  options: WebSessionOptions = {},
): WebSession<Name> {
  const core = new SessionCore(auth, options)
  async function handle(request: Request): Promise<Response | undefined>
  async function handle<Asked extends Request>(request: Asked, next: Next<Asked>): Promise<Response>
  async function handle<Asked extends Request>(request: Asked, next?: Next<Asked>): Promise<Response | undefined> {
    const incoming = incomingOf(request)
    const answer = await core.answerSignIn(incoming)
    if (answer) return responseOf(answer)
    if (!next) return undefined
    const loaded = await core.loadForAll(incoming, request)
    const changed = afterwards(request, loaded)
    setAuth(changed, loaded.principal)
    return carry(await next(changed), loaded.cookies)
  }
  return {
    handle,
    async getSession(of) {
      // The headers of Next.js have a member of that name too.
      const loading =
        'get' in of ? core.load({ method: 'GET', url: '/', header: (name) => of.get(name) }) : core.load(incomingOf(of), of)
      const { principal, accessToken, cookies } = await loading
      const headers = new Headers(cookies.length > 0 ? UNCACHED : {})
      for (const cookie of cookies) headers.append('set-cookie', cookie)
      return { principal, accessToken, headers }
    },
    requireSession(requirements = {}) {
      const judge = core.guard(requirements)
      return (handler) => async (request, context?: unknown) => {
        const incoming = incomingOf(request)
        const found = await judge(incoming, request, request)
        const loaded = await core.loadForAll(incoming, request)
        if ('status' in found) return carry(responseOf(found), loaded.cookies)
        const changed = afterwards(request, loaded)
        setAuth(changed, found)
        try {
          return carry(await handler(changed, context as never), loaded.cookies)
        } catch (error) {
          // A failed `getAuth(request).assert(…)`. The framework handles all other errors.
          return carry(responseOf(await core.refuse(incoming, error, true)), loaded.cookies)
        }
      }
    },
    node: {
      handle: async (...given: NodeCall) => (await nodeForm()).handleNode(core, given),
      requireSession(requirements = {}) {
        const judge = core.guard(requirements)
        return async (...given: NodeCall) => (await nodeForm()).guardNode(core, judge, given)
      },
    },
  }
}

type Next<Asked> = (request: Asked) => Response | Promise<Response>

const nodeForm = () => import('./node-form.ts')

function incomingOf({ method, url, headers }: Request): Incoming {
  return { method, url, header: (name) => headers.get(name) }
}

function responseOf({ status, headers, cookies, body }: Answer): Response {
  return carry(new Response(body || null, { status, headers }), cookies)
}

/** Returns the request with the cookies that the browser will have, so that those who handle it next see the renewed session. */
function afterwards<Asked extends Request>(request: Asked, { cookieAfter }: Loaded): Asked {
  if (cookieAfter === undefined) return request
  try {
    // Keeps the type of the framework's request.
    request.headers.set('cookie', cookieAfter)
    return request
  } catch {
    const headers = new Headers(request.headers)
    headers.set('cookie', cookieAfter)
    return new Request(request, { headers }) as Asked
  }
}

function carry(response: Response, cookies: readonly string[]): Response {
  // A guard within `handle` has added them.
  const [first] = cookies
  if (first === undefined || response.headers.getSetCookie().includes(first)) return response
  let changed = response
  try {
    changed.headers.set('cache-control', UNCACHED['cache-control'])
  } catch {
    // Such as `Response.redirect` makes it.
    changed = new Response(response.body, response)
    changed.headers.set('cache-control', UNCACHED['cache-control'])
  }
  for (const cookie of cookies) changed.headers.append('set-cookie', cookie)
  return changed
}
