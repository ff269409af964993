import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import Router from '@koa/router'
import express from 'express'
// @ts-expect-error its types are another package, and those of Express 5 serve
import express4 from 'express-4'
import Fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
// @ts-expect-error its types are another package, and those of Koa 3 serve
import Koa2 from 'koa-2'
import * as expressGuard from './express.ts'
import * as fastifyGuard from './fastify.ts'
import * as honoGuard from './hono.ts'
import type { Auth, Principal } from './index.ts'
import * as koaGuard from './koa.ts'

// One set of routes, served by each framework on a socket of its own, written as that framework's users write it.

export interface Route {
  readonly path: string
  /** Without one, the handler asks for a principal that nobody looked for. */
  readonly guard?: 'required' | 'optional'
  readonly requirements?: koaGuard.Requirements
  /** The request id that the app answers with. */
  readonly requestId?: string
  readonly handle: (principal: Principal) => unknown
}

export interface Stand {
  /** Listens on a port of its own; `failures` collects the errors that reached the framework. */
  readonly serve: (auth: Auth, routes: readonly Route[], failures: unknown[]) => Promise<{ port: number; close: () => unknown }>
}

async function listening(server: Server): Promise<{ port: number; close: () => unknown }> {
  if (!server.listening) await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { port: (server.address() as AddressInfo).port, close }
}

const koa = (Framework: typeof Koa): Stand => ({
  serve(auth, routes, failures) {
    const app = new Framework()
    const router = new Router()
    for (const { path, guard, requirements, requestId, handle } of routes) {
      if (requestId !== undefined)
        router.use(path, async (context, next) => {
          context.set('X-Request-Id', requestId)
          await next()
        })
      if (guard === 'required') router.use(path, koaGuard.requireAuth(auth, requirements))
      if (guard === 'optional') router.use(path, koaGuard.optionalAuth(auth))
      router.get(path, async (context) => {
        context.body = await handle(context.state.auth)
      })
    }
    app.on('error', (error) => failures.push(error))
    app.use(router.routes())
    return listening(app.listen(0, '127.0.0.1'))
  },
})

const expressStand = (framework: typeof express): Stand => ({
  serve(auth, routes, failures) {
    const app = framework()
    for (const { path, guard, requirements, requestId, handle } of routes) {
      if (requestId !== undefined)
        app.use(path, (_, response, next) => void next(response.set('X-Request-Id', requestId) && undefined))
      if (guard === 'required') app.use(path, expressGuard.requireAuth(auth, requirements))
      if (guard === 'optional') app.use(path, expressGuard.optionalAuth(auth))
      app.get(path, (request, response, next) => {
        // Express 4 does not wait for promises.
        new Promise((resolve) => resolve(handle(expressGuard.getAuth(request)))).then((body) => response.json(body), next)
      })
    }
    app.use(expressGuard.authErrorHandler)
    app.use(((error, _request, response, _next) => {
      failures.push(error)
      response.status(500).send('broken')
    }) satisfies express.ErrorRequestHandler)
    return listening(app.listen(0, '127.0.0.1'))
  },
})

const fastify = (hook: 'onRequest' | 'preHandler'): Stand => ({
  async serve(auth, routes, failures) {
    const app = Fastify()
    app.addHook('onError', async (_request, _reply, error) => void failures.push(error))
    app.setErrorHandler(fastifyGuard.authErrorHandler)
    for (const { path, guard, requirements, requestId, handle } of routes) {
      app.register(async (scope) => {
        if (requestId !== undefined) scope.addHook('onRequest', async (_, reply) => void reply.header('X-Request-Id', requestId))
        if (guard === 'required') scope.addHook(hook, fastifyGuard.requireAuth(auth, requirements))
        if (guard === 'optional') scope.addHook(hook, fastifyGuard.optionalAuth(auth))
        scope.get(path, async (request) => handle(fastifyGuard.getAuth(request)))
      })
    }
    await app.listen({ port: 0, host: '127.0.0.1' })
    return listening(app.server)
  },
})

const hono: Stand = {
  serve(auth, routes, failures) {
    const app = new Hono<honoGuard.AuthEnv>()
    for (const { path, guard, requirements, requestId, handle } of routes) {
      if (requestId !== undefined)
        app.use(path, async (context, next) => {
          context.header('X-Request-Id', requestId)
          await next()
        })
      if (guard === 'required') app.use(path, honoGuard.requireAuth(auth, requirements))
      if (guard === 'optional') app.use(path, honoGuard.optionalAuth(auth))
      app.get(path, async (context) => context.json((await handle(context.var.auth)) as object))
    }
    app.onError((error, context) => {
      failures.push(error)
      return context.text('broken', 500)
    })
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }) as Server)
  },
}

export const stands: Record<string, Stand> = {
  'Koa 3': koa(Koa),
  'Koa 2': koa(Koa2),
  'Express 5': expressStand(express),
  'Express 4': expressStand(express4),
  'Fastify 5, onRequest': fastify('onRequest'),
  'Fastify 5, preHandler': fastify('preHandler'),
  'Hono 4': hono,
}
