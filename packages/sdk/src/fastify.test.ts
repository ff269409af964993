import Fastify, { type FastifyInstance } from 'fastify'
import { expect, onTestFinished, test } from 'vitest'
import { authErrorHandler, getAuth, optionalAuth, requireAuth } from './fastify.ts'
import { buildAuth, CLAIMS, signToken } from './test-tokens.ts'

// Only what is specific to Fastify. What all guards share is in guards.test.ts.

const auth = buildAuth()
const headers = { authorization: `Bearer ${signToken()}` }

function buildApp() {
  const app = Fastify({ forceCloseConnections: true })
  onTestFinished(() => app.close())
  return app
}

async function ask(app: FastifyInstance, path: string, init: RequestInit = { headers }): Promise<Response> {
  const address = app.server.listening ? app.listeningOrigin : await app.listen({ port: 0, host: '127.0.0.1' })
  return fetch(`${address}${path}`, init)
}

test('a guard of one route does not affect other routes', async () => {
  const app = buildApp()
  app.get('/guarded', { onRequest: requireAuth(auth) }, async (request) => ({ user: getAuth(request).userId }))
  app.get('/open', async () => ({ open: true }))
  expect(await (await ask(app, '/guarded')).json()).toEqual({ user: CLAIMS.uid })
  expect((await ask(app, '/guarded', {})).status).toBe(401)
  expect(await (await ask(app, '/open', {})).json()).toEqual({ open: true })
})

// Fastify's `inject` needs a Node that can require ES modules.
test.skipIf(!process.features.require_module)('an injected request is guarded', async () => {
  const app = buildApp()
  app.get('/', { onRequest: requireAuth(auth) }, async (request) => ({ user: getAuth(request).userId }))
  expect((await app.inject({ url: '/', headers })).json()).toEqual({ user: CLAIMS.uid })
  expect((await app.inject('/')).json()).toMatchObject({ status: 401, code: 'token_missing' })
})

test('hooks in a list run in turn', async () => {
  const app = buildApp()
  const onRequest = [optionalAuth(auth), requireAuth(auth, { permissions: ['invoices:void'] })]
  app.get('/', { onRequest }, async () => 'reached')
  expect((await ask(app, '/')).status).toBe(403)
})

test('a refusal is sent whole despite the response schema of the route', async () => {
  const app = buildApp()
  const error = { type: 'object', properties: { message: { type: 'string' } } } as const
  app.addHook('onRequest', requireAuth(auth))
  app.get('/', { schema: { response: { '4xx': error, default: error } } }, async () => ({ message: 'reached' }))
  const answer = await ask(app, '/', {})
  expect(await answer.json()).toMatchObject({ status: 401, code: 'token_missing' })
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
})

test('a request without a token is refused before its body is parsed', async () => {
  const app = buildApp()
  app.addHook('onRequest', requireAuth(auth))
  app.post('/', async () => 'reached')
  const json = { 'content-type': 'application/json' }
  expect((await ask(app, '/', { method: 'POST', headers: json, body: '{' })).status).toBe(401)
})

test('a failed assertion is answered 403 with a challenge and without the hint, even without authErrorHandler', async () => {
  const app = buildApp()
  app.addHook('onRequest', requireAuth(auth))
  app.get('/', async (request) => getAuth(request).assert('invoices:void'))
  const answer = await ask(app, '/')
  expect(answer.status).toBe(403)
  expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gatehouse", error="insufficient_scope"')
  expect(await answer.text()).not.toContain('invoices:void')
})

test('authErrorHandler passes other errors to the handler of the outer scope', async () => {
  const app = buildApp()
  app.setErrorHandler((_, _request, reply) => reply.code(418).send('outer'))
  app.register(async (scope) => {
    scope.setErrorHandler(authErrorHandler)
    scope.get('/', async () => {
      throw new Error('broken')
    })
  })
  expect((await ask(app, '/')).status).toBe(418)
})
