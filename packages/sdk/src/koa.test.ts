import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import Koa from 'koa'
import { expect, onTestFinished, test } from 'vitest'
import { type Auth, definePermissions, type PermissionName } from './index.ts'
import { type AuthState, type OptionalAuthState, optionalAuth, requireAuth } from './koa.ts'
import { buildAuth, CLAIMS, signToken } from './test-tokens.ts'

// Only what is specific to Koa. What all guards share is in guards.test.ts.

const permissions = definePermissions('billing', { 'invoices:read': 'Read invoices', 'invoices:void': 'Void invoices' })
type BillingPermission = PermissionName<typeof permissions>
const auth = buildAuth({ permissions })
const typed = auth as unknown as Auth<BillingPermission>

async function ask(app: Pick<Koa, 'listen'>, token?: string): Promise<Response> {
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { headers })
}

test('a guard ignores a principal that earlier middleware put into ctx.state', async () => {
  const build = () =>
    new Koa()
      .use(async (context, next) => {
        context.state.auth = { userId: 'forged', has: () => true }
        await next()
      })
      .use(requireAuth(auth, { permissions: ['invoices:read'] }))
      .use((context) => {
        context.body = { user: context.state.auth.userId }
      })
  expect((await ask(build())).status).toBe(401)
  expect(await (await ask(build(), signToken())).json()).toEqual({ user: CLAIMS.uid })
})

test('optionalAuth without a token clears ctx.state.auth', async () => {
  const router = new Router<OptionalAuthState<BillingPermission>>()
  router.use(async (context, next) => {
    Object.assign(context.state, { auth: { userId: 'forged' } })
    await next()
  })
  router.get('/', optionalAuth(typed), (context) => {
    context.body = { user: context.state.auth?.userId ?? null }
  })
  expect(await (await ask(new Koa().use(router.routes()))).json()).toEqual({ user: null })
})

test('a chain of middleware infers ctx.state, and a misspelt permission does not compile', async () => {
  const app = new Koa().use(requireAuth(typed)).use(({ state }) => {
    // @ts-expect-error misspelt permission
    expect(state.auth.has('invoices:raed')).toBe(false)
    expect(state.auth.has('invoices:read')).toBe(true)
  })
  expect((await ask(app, signToken())).status).toBe(404)
})

test('AuthState types ctx.state, and a misspelt permission does not compile', async () => {
  const router = new Router<AuthState<BillingPermission>>()
  router.get('/', requireAuth(typed), ({ state }) => {
    // @ts-expect-error misspelt permission
    expect(state.auth.has('invoices:raed')).toBe(false)
    expect(state.auth.has('invoices:read')).toBe(true)
  })
  expect((await ask(new Koa().use(router.routes()), signToken())).status).toBe(404)
})
