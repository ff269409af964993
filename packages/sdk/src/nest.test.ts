import { type ArgumentsHost, Controller, Get, Logger, Module, type PipeTransform, UseGuards } from '@nestjs/common'
import { APP_FILTER, APP_GUARD, NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createAuth, type Principal } from './index.ts'
import { AuthErrorFilter, AuthPrincipal, Public, requireAuth } from './nest.ts'
import { buildAuth, CLAIMS, NOW, SECRET, signToken } from './test-tokens.ts'

// Only what is specific to Nest. What all guards share is in guards.test.ts.

const auth = buildAuth()

class InvoicesController {
  list(principal: Principal): unknown {
    return { user: principal.userId }
  }
  drop(principal: Principal): void {
    principal.assert('invoices:void')
  }
}
for (const [name, path] of [
  ['list', ''],
  ['drop', 'drop'],
] as const) {
  Get(path)(InvoicesController.prototype, name, Object.getOwnPropertyDescriptor(InvoicesController.prototype, name)!)
  AuthPrincipal()(InvoicesController.prototype, name, 0)
}
Controller('invoices')(InvoicesController)

/** A pipe for the principal, used as a class that Nest instantiates and as an object. */
class ToUserId implements PipeTransform<Principal, string> {
  transform({ userId }: Principal): string {
    return userId
  }
}
class PipedController {
  show(...ids: string[]): unknown {
    return ids
  }
}
Get()(PipedController.prototype, 'show', Object.getOwnPropertyDescriptor(PipedController.prototype, 'show')!)
AuthPrincipal(ToUserId)(PipedController.prototype, 'show', 0)
AuthPrincipal(new ToUserId())(PipedController.prototype, 'show', 1)
Controller('piped')(PipedController)

test('a guard and a filter protect a whole app as providers', async () => {
  class Root {}
  const providers = [
    { provide: APP_GUARD, useValue: requireAuth(auth) },
    { provide: APP_FILTER, useClass: AuthErrorFilter },
  ]
  Module({ controllers: [InvoicesController, PipedController], providers })(Root)
  const app = await NestFactory.create(Root, new ExpressAdapter(), { logger: false })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  const ask = async (path: string, token?: string) => {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${await app.getUrl()}/${path}`, { headers })
    return [answer.status, await answer.json()]
  }
  expect(await ask('invoices', signToken())).toEqual([200, { user: CLAIMS.uid }])
  expect(await ask('piped', signToken())).toEqual([200, [CLAIMS.uid, CLAIMS.uid]])
  expect(await ask('invoices')).toMatchObject([401, { code: 'token_missing' }])
  expect(await ask('invoices/drop', signToken())).toMatchObject([403, { code: 'permission_denied' }])
  expect(await ask('nowhere', signToken())).toMatchObject([404, { statusCode: 404 }])
})

test('@Public() opens a route and a controller, but not a guard with requirements', async () => {
  class MixedController {
    health(principal: Principal | undefined): unknown {
      return { status: 'ok', user: principal?.userId ?? null }
    }
    closed(): unknown {
      return {}
    }
    clerks(): unknown {
      return {}
    }
  }
  class OpenController {
    all(): unknown {
      return { status: 'ok' }
    }
    clerks(): unknown {
      return {}
    }
  }
  const decorate = (target: object, name: string, ...decorators: MethodDecorator[]) => {
    const descriptor = Object.getOwnPropertyDescriptor(target, name)!
    for (const decorator of [Get(name), ...decorators]) decorator(target, name, descriptor)
  }
  const clerksOnly = UseGuards(requireAuth(auth, { permissions: ['invoices:void'] }))
  decorate(MixedController.prototype, 'health', Public())
  AuthPrincipal()(MixedController.prototype, 'health', 0)
  decorate(MixedController.prototype, 'closed')
  decorate(MixedController.prototype, 'clerks', Public(), clerksOnly)
  decorate(OpenController.prototype, 'all')
  decorate(OpenController.prototype, 'clerks', clerksOnly)
  Controller('mixed')(MixedController)
  Public()(OpenController)
  Controller('open')(OpenController)
  class Root {}
  const providers = [{ provide: APP_GUARD, useValue: requireAuth(auth, { onRefused: () => {} }) }]
  Module({ controllers: [MixedController, OpenController], providers })(Root)
  const app = await NestFactory.create(Root, new ExpressAdapter(), { logger: false })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  const ask = async (path: string, headers = {}) => fetch(`${await app.getUrl()}/${path}`, { headers })
  const health = await ask('mixed/health', { authorization: 'Bearer anything' })
  expect([health.status, await health.json()]).toEqual([200, { status: 'ok', user: null }])
  expect((await ask('open/all')).status).toBe(200)
  for (const path of ['mixed/closed', 'mixed/clerks', 'open/clerks'])
    expect([path, (await ask(path)).status]).toEqual([path, 401])
})

test('@AuthPrincipal() with the name of a member throws, because its parameter is the whole principal', () => {
  // @ts-expect-error It takes pipes alone.
  expect(() => AuthPrincipal('userId')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }))
  // @ts-expect-error The same.
  expect(() => AuthPrincipal(undefined)).toThrow(/accepts only pipes/)
})

test.each(['rpc', 'ws', 'graphql'])('a guard refuses a call by %s', async (type) => {
  Logger.overrideLogger(false)
  const host = { getType: () => type } as unknown as ArgumentsHost
  await expect(async () => requireAuth(auth).canActivate(host as never)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
})

test('createAuth reports a .env that is read too late, and works with lazy', async () => {
  // As `ConfigModule` does: after this module has called `createAuth`.
  const settings = { SERVICE_APP_CODE: 'billing', JWT_ACCESS_SECRET: SECRET }
  const later = { revocation: { mode: 'off' }, now: () => NOW * 1000 } as const
  expect(() => createAuth(later)).toThrow('.env is not read yet: pass lazy: true')
  const guard = requireAuth(createAuth({ ...later, lazy: true }))
  class Root {}
  Module({ controllers: [InvoicesController], providers: [{ provide: APP_GUARD, useValue: guard }] })(Root)
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const app = await NestFactory.create(Root, new ExpressAdapter(), { logger: false })
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  const headers = { authorization: `Bearer ${signToken()}` }
  expect((await fetch(`${await app.getUrl()}/invoices`, { headers })).status).toBe(200)
})
