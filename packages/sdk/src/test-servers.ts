import { once } from 'node:events'
import { createServer, type IncomingMessage, Server, type ServerResponse } from 'node:http'
import { serve } from '@hono/node-server'
import Router from '@koa/router'
import { type ArgumentsHost, Controller, Get, type HttpServer, Module, UseGuards } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter } from '@nestjs/platform-fastify'
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
import type { Auth, AuthError, Principal } from './index.ts'
import * as koaGuard from './koa.ts'
import * as nestGuard from './nest.ts'
import * as nextGuard from './next.ts'
import * as nodeGuard from './node.ts'
import { portOf } from './testing/fake-service.ts'

// One set of routes, served by each framework on its own socket, written the way users of that framework write it.

export interface Route {
  readonly path: string
  /** Without a guard, the handler asks for a principal that was never set. */
  readonly guard?: 'required' | 'optional'
  readonly requirements?: koaGuard.Requirements
  readonly onRefused?: (error: AuthError, request: { readonly headers: object }) => void
  /** The request id that the app answers with. */
  readonly requestId?: string
  readonly handle: (principal: Principal) => unknown
}

export interface Stand {
  /** A handler of Next.js makes its own answer, so no header is set on it before. */
  readonly knowsNoAnswer?: true
  /** Listens on a free port. `failures` collects the errors that reached the framework. */
  readonly serve: (auth: Auth, routes: readonly Route[], failures: unknown[]) => Promise<{ port: number; close: () => unknown }>
}

async function listening(server: ReturnType<typeof serve>): Promise<{ port: number; close: () => unknown }> {
  if (!(server instanceof Server)) throw new Error('expected HTTP/1')
  if (!server.listening) await once(server, 'listening')
  const close = () => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  }
  return { port: portOf(server), close }
}

const koa = (Framework: typeof Koa): Stand => ({
  serve(auth, routes, failures) {
    const app = new Framework()
    const router = new Router()
    for (const { path, guard, requirements, onRefused, requestId, handle } of routes) {
      const asked = { ...requirements, ...(onRefused && { onRefused }) }
      if (requestId !== undefined)
        router.use(path, async (context, next) => {
          context.set('X-Request-Id', requestId)
          await next()
        })
      if (guard === 'required') router.use(path, koaGuard.requireAuth(auth, asked))
      if (guard === 'optional') router.use(path, koaGuard.optionalAuth(auth, asked))
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
    for (const { path, guard, requirements, onRefused, requestId, handle } of routes) {
      const asked = { ...requirements, ...(onRefused && { onRefused }) }
      if (requestId !== undefined)
        app.use(path, (_, response, next) => void next(response.set('X-Request-Id', requestId) && undefined))
      if (guard === 'required') app.use(path, expressGuard.requireAuth(auth, asked))
      if (guard === 'optional') app.use(path, expressGuard.optionalAuth(auth, asked))
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
    for (const { path, guard, requirements, onRefused, requestId, handle } of routes) {
      const asked = { ...requirements, ...(onRefused && { onRefused }) }
      app.register(async (scope) => {
        if (requestId !== undefined) scope.addHook('onRequest', async (_, reply) => void reply.header('X-Request-Id', requestId))
        if (guard === 'required') scope.addHook(hook, fastifyGuard.requireAuth(auth, asked))
        if (guard === 'optional') scope.addHook(hook, fastifyGuard.optionalAuth(auth, asked))
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
    for (const { path, guard, requirements, onRefused, requestId, handle } of routes) {
      const asked = { ...requirements, ...(onRefused && { onRefused }) }
      if (requestId !== undefined)
        app.use(path, async (context, next) => {
          context.header('X-Request-Id', requestId)
          await next()
        })
      if (guard === 'required') app.use(path, honoGuard.requireAuth(auth, asked))
      if (guard === 'optional') app.use(path, honoGuard.optionalAuth(auth, asked))
      app.get(path, async (context) => {
        const body = JSON.stringify(await handle(context.var.auth))
        return context.body(body, 200, { 'content-type': 'application/json' })
      })
    }
    app.onError((error, context) => {
      failures.push(error)
      return context.text('broken', 500)
    })
    return listening(serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }))
  },
}

const node: Stand = {
  serve(auth, routes, failures) {
    const listeners = new Map(
      routes.map(({ path, guard, requirements, onRefused, requestId, handle }) => {
        const asked = { ...requirements, ...(onRefused && { onRefused }) }
        const answer = async (request: IncomingMessage, response: ServerResponse) => {
          response.setHeader('content-type', 'application/json')
          response.end(JSON.stringify(await handle(nodeGuard.getAuth(request))))
        }
        const guarded =
          guard === undefined
            ? answer
            : (guard === 'required' ? nodeGuard.requireAuth(auth, asked) : nodeGuard.optionalAuth(auth, asked))(answer)
        const listener = (request: IncomingMessage, response: ServerResponse) => {
          if (requestId !== undefined) response.setHeader('X-Request-Id', requestId)
          return guarded(request, response)
        }
        return [path, listener]
      }),
    )
    const server = createServer((request, response) => {
      const listener = listeners.get(request.url ?? '')
      if (!listener) return void response.writeHead(404).end()
      listener(request, response).catch((error) => {
        failures.push(error)
        response.writeHead(500).end('broken')
      })
    })
    return listening(server.listen(0, '127.0.0.1'))
  },
}

const next: Stand = {
  knowsNoAnswer: true,
  serve(auth, routes, failures) {
    const context = { params: Promise.resolve({}) }
    const handlers = new Map(
      routes.map(({ path, guard, requirements, onRefused, handle }) => {
        const asked = { ...requirements, ...(onRefused && { onRefused }) }
        const answer = async (request: Request) => Response.json(await handle(nextGuard.getAuth(request)))
        if (guard === undefined) return [path, answer]
        return [path, (guard === 'required' ? nextGuard.requireAuth(auth, asked) : nextGuard.optionalAuth(auth, asked))(answer)]
      }),
    )
    const fetch = async (request: Request) => {
      try {
        const handler = handlers.get(new URL(request.url).pathname)
        return handler ? await handler(request, context) : new Response(null, { status: 404 })
      } catch (error) {
        failures.push(error)
        return new Response('broken', { status: 500 })
      }
    }
    return listening(serve({ fetch, port: 0, hostname: '127.0.0.1' }))
  },
}

/** Returns the class that `@Controller(path)`, `@UseGuards(…)`, `@Get()` and `@AuthPrincipal()` would make. */
function controllerOf(auth: Auth, { path, guard, requirements, onRefused, handle }: Route): new () => object {
  const asked = { ...requirements, ...(onRefused && { onRefused }) }
  class RouteController {
    answer(principal: Principal): unknown {
      return handle(principal)
    }
  }
  Get()(RouteController.prototype, 'answer', Object.getOwnPropertyDescriptors(RouteController.prototype).answer)
  nestGuard.AuthPrincipal()(RouteController.prototype, 'answer', 0)
  if (guard === 'required') UseGuards(nestGuard.requireAuth(auth, asked))(RouteController)
  if (guard === 'optional') UseGuards(nestGuard.optionalAuth(auth, asked))(RouteController)
  Controller(path)(RouteController)
  return RouteController
}

const nest = (adapter: () => ExpressAdapter | FastifyAdapter): Stand => ({
  async serve(auth, routes, failures) {
    class Root {}
    Module({ controllers: routes.map((route) => controllerOf(auth, route)) })(Root)
    class Collecting extends nestGuard.AuthErrorFilter {
      override handleUnknownError(error: unknown, host: ArgumentsHost, server: HttpServer): void {
        failures.push(error)
        super.handleUnknownError(error, host, server)
      }
    }
    const http = adapter()
    const idOf = (path: string) => routes.find((route) => route.path === path)?.requestId
    if (http instanceof FastifyAdapter)
      http.getInstance().addHook('onRequest', async (request, reply) => {
        const id = idOf(request.url)
        if (id !== undefined) reply.header('X-Request-Id', id)
      })
    const app = await NestFactory.create(Root, http, { logger: false })
    if (http instanceof ExpressAdapter)
      app.use((request: express.Request, response: express.Response, goOn: () => void) => {
        const id = idOf(request.path)
        if (id !== undefined) response.set('X-Request-Id', id)
        goOn()
      })
    app.useGlobalFilters(new Collecting(app.getHttpAdapter()))
    await app.listen(0, '127.0.0.1')
    return listening(app.getHttpServer())
  },
})

export const stands: Record<string, Stand> = {
  'Koa 3': koa(Koa),
  'Koa 2': koa(Koa2),
  'Express 5': expressStand(express),
  'Express 4': expressStand(express4),
  'Fastify 5, onRequest': fastify('onRequest'),
  'Fastify 5, preHandler': fastify('preHandler'),
  'Hono 4': hono,
  'node:http': node,
  'Next.js': next,
  'Nest 12 on Express': nest(() => new ExpressAdapter()),
  'Nest 12 on Fastify': nest(() => new FastifyAdapter()),
}
