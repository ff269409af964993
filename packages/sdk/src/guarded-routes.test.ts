import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { serve } from '@hono/node-server'
import Router from '@koa/router'
import Fastify, { type FastifyInstance } from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import { afterAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import * as fastifyGuard from './fastify.ts'
import * as honoGuard from './hono.ts'
import type { Principal } from './index.ts'
import * as koaGuard from './koa.ts'
import { stands } from './test-servers.ts'
import { buildAuth, signToken } from './test-tokens.ts'

// No spelling of a path, no method and no header leads past a guard to a handler behind it, however the two are put together.

const auth = buildAuth()
const good = signToken()
let reached: string[] = []

beforeEach(() => {
  reached = []
})
afterAll(() => auth.close())

type App = () => Promise<Server> | Server

const koa = (build: (app: Koa) => void): App => {
  const app = new Koa({ proxy: true })
  app.silent = true
  build(app)
  return () => app.listen(0, '127.0.0.1')
}
const secret = (context: Koa.Context) => {
  reached.push(context.path)
  context.body = 'secret'
}

const hono = (build: (app: Hono) => void): App => {
  const app = new Hono()
  build(app)
  return () => serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server
}
const honoSecret = (context: { req: { path: string }; text(text: string): Response }) => {
  reached.push(context.req.path)
  return context.text('secret')
}

const fastify = (build: (app: FastifyInstance) => void, options: object = {}): App => {
  const app = Fastify({ forceCloseConnections: true, ...options })
  build(app)
  return async () => {
    await app.listen({ port: 0, host: '127.0.0.1' })
    return app.server
  }
}
const fastifySecret = async (request: { url: string }) => {
  reached.push(request.url)
  return 'secret'
}
const lenient = {
  routerOptions: { ignoreTrailingSlash: true, ignoreDuplicateSlashes: true, caseSensitive: false, useSemicolonDelimiter: true },
}

/** Apps whose guarded route is /admin/list. */
const apps: Record<string, App> = {
  'Koa: a guard for the whole app': koa((app) => {
    app.use(koaGuard.requireAuth(auth)).use(secret)
  }),
  'Koa: router.use with a path': koa((app) => {
    const router = new Router()
    router.use('/admin', koaGuard.requireAuth(auth))
    router.all('/admin/list', secret)
    app.use(router.routes()).use(router.allowedMethods())
  }),
  'Koa: a guard in a nested router that is sensitive': koa((app) => {
    const [outer, inner] = [new Router(), new Router({ sensitive: true })]
    inner.use(koaGuard.requireAuth(auth))
    inner.all('/list', secret)
    outer.use('/admin', inner.routes(), inner.allowedMethods())
    app.use(outer.routes())
  }),
  'Koa: a guard of a router with a prefix that is sensitive': koa((app) => {
    const [outer, inner] = [new Router({ prefix: '/admin', sensitive: true }), new Router({ sensitive: true })]
    inner.all('/list', secret)
    outer.use(koaGuard.requireAuth(auth), inner.routes())
    app.use(outer.routes())
  }),
  'Koa: a guard of one route, with a parameter': koa((app) => {
    const router = new Router()
    router.all('/admin/:what', koaGuard.requireAuth(auth), secret)
    app.use(router.routes())
  }),
  'Koa: an outer middleware that swallows errors': koa((app) => {
    app.use(async (context, next) => {
      await next().catch(() => {})
      context.status ||= 200
    })
    app.use(koaGuard.requireAuth(auth)).use(secret)
  }),
  'Hono: a guard for the whole app': hono((app) => {
    app.use(honoGuard.requireAuth(auth)).all('/admin/list', honoSecret)
  }),
  'Hono: a guard with a wildcard': hono((app) => {
    app.use('/admin/*', honoGuard.requireAuth(auth))
    app.all('/admin/list', honoSecret)
  }),
  'Hono: a guard in an app that is mounted with route': hono((app) => {
    app.route('/admin', new Hono().use(honoGuard.requireAuth(auth)).all('/list', honoSecret))
  }),
  'Hono: a guard before an app that is mounted with mount': hono((app) => {
    app.use('/admin/*', honoGuard.requireAuth(auth))
    app.mount('/admin', new Hono().all('*', honoSecret).fetch)
  }),
  'Hono: an error handler that answers 200': hono((app) => {
    app.use(honoGuard.requireAuth(auth)).all('/admin/list', honoSecret)
    app.onError((_, context) => context.text('fine'))
  }),
  'Fastify: a hook for the whole app, added after the route': fastify((app) => {
    app.all('/admin/list', fastifySecret)
    app.addHook('onRequest', fastifyGuard.requireAuth(auth))
  }, lenient),
  'Fastify: a hook of a plugin with a prefix': fastify((app) => {
    app.register(
      async (scope: FastifyInstance) => {
        scope.addHook('preHandler', fastifyGuard.requireAuth(auth))
        scope.all('/list', fastifySecret)
        scope.register(async (inner: FastifyInstance) => void inner.all('/deep/list', fastifySecret), { prefix: '/more' })
      },
      { prefix: '/admin' },
    )
  }, lenient),
  'Fastify: a hook of one route, with a wildcard': fastify((app) => {
    app.all('/admin/*', { onRequest: fastifyGuard.requireAuth(auth) }, fastifySecret)
  }, lenient),
  'Fastify: an error handler that answers 200': fastify((app) => {
    app.setErrorHandler(async () => 'fine')
    app.addHook('onRequest', fastifyGuard.requireAuth(auth))
    app.all('/admin/list', fastifySecret)
    app.setNotFoundHandler(async () => 'not here')
  }, lenient),
}

const paths = [
  '/admin/list',
  '/admin/list/',
  '/admin/list?x',
  '/admin/list#x',
  '/admin/list;x',
  '/admin;x/list',
  '/ADMIN/LIST',
  '/Admin/list',
  '//admin/list',
  '/admin//list',
  '/admin/./list',
  '/x/../admin/list',
  '/admin/x/../list',
  '/%61dmin/list',
  '/admin%2flist',
  '/admin/%6c%69st',
  '/admin/list%00',
  '/admin/list%20',
  '/admin%5clist',
  '/admin\\list',
  '/admin/more/deep/list',
  'http://elsewhere.example/admin/list',
  'http://elsewhere.example//admin/list',
  '/admin/list.json',
  '/%2561dmin/list',
  '/admi%6E/list',
]
const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'PROPFIND']
/** Headers by which some programs let a request pass for another one. */
const disguises = [
  '',
  'X-HTTP-Method-Override: OPTIONS\r\n',
  'X-Original-URL: /open\r\nX-Rewrite-URL: /open\r\n',
  'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n',
  'Origin: https://elsewhere.example\r\nAccess-Control-Request-Method: GET\r\n',
  'Connection: authorization\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n',
  'Authorization: Bearer\r\n',
  'Authorization: Bearer undefined\r\n',
  'Authorization: Bearer null\r\n',
  'Authorization: Bearer []\r\n',
  `Authorization: ${good}\r\n`,
  `Authorization:\r\nX-Authorization: Bearer ${good}\r\n`,
  `Proxy-Authorization: Bearer ${good}\r\nCookie: authorization=Bearer ${good}\r\n`,
  `Authorization: Bearer ${good}\r\nAuthorization: Bearer ${good}\r\n`,
  `Authorization: Basic eDp5\r\nauthorization: Bearer ${good}\r\n`,
  `Authorization: Bearer ${good}x\r\n`,
  `Authorization: Bearer ${good},\r\n`,
  `Authorization: Bearer ${good} ${good}\r\n`,
]

/** Sends a request with this target as it is, and returns the first line of the answer. */
function ask(port: number, method: string, target: string, headers: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      answer += text
    })
    socket.on('error', reject).on('close', () => resolve(answer.split('\r\n')[0]!))
    socket.write(`${method} ${target} HTTP/1.1\r\nHost: x\r\n${headers}Connection: close\r\n\r\n`)
  })
}

async function listen(start: App): Promise<number> {
  const server = await start()
  if (!server.listening) await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const requests = [
  ...paths.flatMap((path) => ['GET', 'POST'].map((method) => ({ method, path, headers: '' }))),
  ...methods.map((method) => ({ method, path: '/admin/list', headers: '' })),
  ...disguises.flatMap((headers) => ['GET', 'OPTIONS'].map((method) => ({ method, path: '/admin/list', headers }))),
]

test.each(Object.entries(apps))('%s: only a request with a valid token reaches the handler', async (_, start) => {
  const port = await listen(start)
  for (const { method, path, headers } of requests) {
    await ask(port, method, path, headers)
    expect(reached, `${method} ${path} ${headers}`).toEqual([])
  }
  expect(await ask(port, 'GET', '/admin/list', `Authorization: Bearer ${good}\r\n`)).toContain('200')
  expect(reached).toHaveLength(1)
})

// Once this fails, what docs/start/quickstarts.md says of prefixes is no longer needed.
test.each([
  [
    'a prefix',
    () => {
      const router = new Router({ prefix: '/admin' })
      router.use(koaGuard.requireAuth(auth))
      return router.all('/list', secret)
    },
  ],
  [
    'a router in a router',
    () => {
      const inner = new Router()
      inner.use(koaGuard.requireAuth(auth))
      return new Router().use('/admin', inner.all('/list', secret).routes())
    },
  ],
])('@koa/router skips its middleware if the path is written in another case, for %s', async (_, build) => {
  const port = await listen(koa((app) => void app.use(build().routes())))
  expect(await ask(port, 'GET', '/admin/list', '')).toContain('401')
  expect(await ask(port, 'GET', '/ADMIN/list', '')).toContain('200')
})

test.each(Object.entries(stands))('%s: each of many concurrent callers gets their own identity', async (_, { serve }) => {
  const handle = async (principal: Principal | undefined) => {
    await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()))
    return { user: principal?.userId ?? null, email: principal?.claims.email ?? null }
  }
  const { port, close } = await serve(auth, [{ path: '/', guard: 'optional', handle }], [])
  onTestFinished(async () => void (await close()))
  const users = Array.from({ length: 5 }, (_, index) => ({ uid: `user-${index}`, email: `user-${index}@example.com` }))
  const tokens = users.map((user) => signToken(user))
  const callers = Array.from({ length: 60 }, (_, index) => index % 6)
  const found = await Promise.all(
    callers.map(async (index) => {
      const headers = index < 5 ? { authorization: `Bearer ${tokens[index]}` } : {}
      return (await fetch(`http://127.0.0.1:${port}/`, { headers })).json()
    }),
  )
  expect(found).toEqual(callers.map((index) => ({ user: users[index]?.uid ?? null, email: users[index]?.email ?? null })))
})
