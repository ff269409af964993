import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
// @ts-expect-error its types are another package, and those of Express 5 serve
import express4 from 'express-4'
import Fastify from 'fastify'
import Koa from 'koa'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'

import { createTestAuth } from '../testing/index.ts'
import { createWebSession, getAuth, type Requirements, type WebSession } from './index.ts'
import { openBrowser, sendOverHttp } from './test-browser.ts'

const freePort = async () => {
  const server = createServer().listen(0)
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

type Email = { claims: { email: string } } | undefined
const nameOf = (principal: Email) => principal?.claims.email ?? 'nobody'
type Listen = (session: WebSession<'notes:delete'>, port: number) => Promise<() => unknown>

/** What the guarded page does before it answers. */
let before: () => unknown = () => {}
/** What the guarded page requires. */
let asked: Requirements<'notes:delete', IncomingMessage, 'user'> = {}

/** An open page, a guarded one, and a guarded call, as users of each framework write them. */
const frameworks: Record<string, Listen> = {
  express: expressApp(express),
  'express 4': expressApp(express4),

  async koa(session, port) {
    const app = new Koa()
    app.use(session.node.handle)
    app.use(async (ctx, next) => {
      if (ctx.path === '/') ctx.body = nameOf(ctx.state.auth)
      else await next()
    })
    app.use(session.node.requireSession(asked))
    app.use(async (ctx) => {
      await before()
      ctx.set('cache-control', 'public, max-age=3600')
      if (ctx.method === 'DELETE') ctx.state.auth.assert('notes:delete')
      ctx.cookies.set('theme', 'dark')
      ctx.body = nameOf(ctx.state.auth)
    })
    return closing(app.listen(port))
  },

  async fastify(session, port) {
    const app = Fastify()
    app.addHook('onRequest', session.node.handle)
    app.get('/', async (request) => nameOf(getAuth(request)))
    app.route({
      method: ['GET', 'DELETE'],
      url: '/notes',
      onRequest: session.node.requireSession(asked),
      handler: async (request, reply) => {
        await before()
        reply.header('cache-control', 'public, max-age=3600').header('set-cookie', 'theme=dark')
        return nameOf(getAuth(request))
      },
    })
    await app.listen({ port })
    return () => app.close()
  },

  async node(session, port) {
    const guard = session.node.requireSession(asked)
    const page = async (request: IncomingMessage, response: ServerResponse) => {
      await before()
      response.appendHeader('set-cookie', 'theme=dark')
      response.writeHead(200, { 'Cache-Control': 'public, max-age=3600' }).end(nameOf(getAuth(request)))
    }
    const server = createServer((request, response) =>
      session.node.handle(request, response, () =>
        request.url === '/' ? response.end(nameOf(getAuth(request))) : guard(request, response, () => page(request, response)),
      ),
    )
    return closing(server.listen(port))
  },
}

function expressApp(framework: typeof express): Listen {
  return async (session, port) => {
    const app = framework()
    app.use(session.node.handle)
    app.get('/', (request, response) => void response.send(nameOf(getAuth(request))))
    // A router that is mounted sees a shorter path.
    const notes = framework.Router()
    notes.use(session.node.requireSession(asked))
    notes.all('/', async (request, response) => {
      await before()
      response.cookie('theme', 'dark').set('cache-control', 'public, max-age=3600')
      response.send(nameOf(getAuth(request)))
    })
    app.use('/notes', notes)
    return closing(app.listen(port))
  }
}

function closing(server: { close(): unknown; closeAllConnections(): void }) {
  return () => {
    server.closeAllConnections()
    server.close()
  }
}

afterEach(() => {
  asked = {}
})

describe.each(Object.entries(frameworks))('%s', (_, listen) => {
  async function build() {
    const gate = createTestAuth({ appCode: 'notes' })
    onTestFinished(() => gate.close())
    const port = await freePort()
    const origin = `http://localhost:${port}`
    const options = { redirectUrl: `${origin}/callback`, cookieSecret: 'a secret for cookies, of 32 characters or more' }
    onTestFinished((await listen(createWebSession(gate.auth, options) as never, port)) as () => void)
    const browser = openBrowser(sendOverHttp, origin)
    return { gate, origin, browser }
  }

  test('a browser signs in, reads a guarded page, and signs out', async () => {
    const { browser, origin } = await build()
    expect(await (await browser.open('/')).text()).toBe('nobody')
    expect((await browser.open('/notes?page=2')).headers.get('location')).toBe(`${origin}/login?returnTo=%2Fnotes%3Fpage%3D2`)
    expect(await (await browser.follow('/notes')).text()).toBe('test.user@example.com')
    expect(await (await browser.open('/')).text()).toBe('test.user@example.com')
    const out = await browser.send('/logout')
    expect([out.status, out.headers.get('location')]).toEqual([303, `${origin}/`])
    const refused = await browser.call('/notes')
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([401, 'token_missing'])
  })

  test('an answer that is sent after the user has signed out sets no session cookie', async () => {
    const { browser, gate } = await build()
    await browser.follow('/login')
    gate.advance(1000)
    onTestFinished(() => {
      before = () => {}
    })
    before = async () => {
      before = () => {}
      expect((await browser.send('/logout')).status).toBe(303)
    }
    const answer = await browser.open('/notes')
    expect([answer.status, await answer.text()]).toEqual([200, 'test.user@example.com'])
    expect(answer.headers.getSetCookie().map((line) => line.split(';')[0])).toEqual(['theme=dark'])
    expect([...browser.jar.keys()]).toEqual(['theme'])
  })

  test('a renewed session is sent once beside the cookies of the app, and the answer is not cached', async () => {
    const { browser, gate } = await build()
    await browser.follow('/login')
    expect((await browser.open('/notes')).headers.get('cache-control')).toBe('public, max-age=3600')
    gate.advance(1000)
    const answers = await Promise.all(Array.from({ length: 8 }, () => browser.open('/notes')))
    for (const answer of answers) {
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([200, 'private, no-store'])
      const names = answer.headers.getSetCookie().map((line) => line.split('=')[0])
      expect(names.sort()).toEqual(['gatehouse_notes_session.0', 'theme'])
    }
    gate.advance(1000)
    expect(await (await browser.open('/')).text()).toBe('test.user@example.com')
  })

  test('a browser with a weak or old proof is sent to sign in again, and a script gets the challenge', async () => {
    asked = { maxAgeSec: 300, amr: 'mfa' }
    const { browser, gate, origin } = await build()
    await browser.follow('/login')
    const led = await browser.open('/notes?page=2')
    expect([led.status, led.headers.get('location')]).toEqual([
      303,
      `${origin}/login?returnTo=%2Fnotes%3Fpage%3D2&maxAgeSec=300&amr=mfa`,
    ])
    const told = await browser.call('/notes')
    expect([told.status, told.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer realm="gatehouse", error="insufficient_user_authentication", max_age="300", acr_values="mfa"',
    ])
    expect(await (await browser.follow('/notes')).text()).toBe('test.user@example.com')
    expect((await browser.call('/notes')).status).toBe(200)
    gate.advance(400)
    expect((await browser.call('/notes')).status).toBe(401)
    expect(await (await browser.follow('/notes')).text()).toBe('test.user@example.com')
  })

  test('a request from another site changes nothing', async () => {
    const { browser } = await build()
    await browser.follow('/login')
    expect((await browser.send('/logout', { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    const forged = await browser.call('/notes', { method: 'DELETE', headers: { 'sec-fetch-site': 'cross-site' } })
    expect([forged.status, ((await forged.json()) as { detail: string }).detail]).toEqual([
      403,
      'Another site made this request.',
    ])
  })

  test('open pages work while the service is down, and guarded ones answer 503', async () => {
    const { browser, gate } = await build()
    await browser.follow('/login')
    await gate.service.down()
    gate.advance(1000)
    expect(await (await browser.open('/')).text()).toBe('nobody')
    expect((await browser.open('/notes')).status).toBe(503)
    await gate.service.up()
    expect(await (await browser.open('/notes')).text()).toBe('test.user@example.com')
  })
})

test('koa: a handler that asks for a missing permission answers 403', async () => {
  const gate = createTestAuth({ appCode: 'notes' })
  onTestFinished(() => gate.close())
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const options = { redirectUrl: `${origin}/callback`, cookieSecret: 'a secret for cookies, of 32 characters or more' }
  onTestFinished((await frameworks.koa!(createWebSession(gate.auth, options) as never, port)) as () => void)
  const browser = openBrowser(sendOverHttp, origin)
  await browser.follow('/login')
  const refused = await browser.call('/notes', { method: 'DELETE' })
  expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, 'permission_denied'])
})
