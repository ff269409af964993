// What a backend can read about itself to check its settings.
import { describe, expect, test } from 'vitest'
import { seed } from '../../packages/server/src/db/seed.ts'
import { transaction } from '../../packages/server/src/db/transaction.ts'
import { assertionOf, kidOf } from '../support/consumer.ts'
import { expectError, expectHeaders } from '../support/expect-reply.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { ACCESS_SECRET, buildApp, type Json } from '../support/service.ts'

const previousSecret = 'the secret before that one, at least 32 characters long'
const service = serviceFixture({ JWT_ACCESS_SECRET_PREVIOUS: previousSecret })
const app = appFixture(service)
const ask = (of: { code: string } = app, secret = ACCESS_SECRET) =>
  service.call('GET', '/consumer', { token: assertionOf(of, { secret, now: service.deps.clock() }) })

describe('GET /consumer', () => {
  test('the answer shows the app, the secrets and the clock of the server, and the id of the service', async () => {
    const reply = await ask()
    expectHeaders(reply)
    expect(reply.headers.get('cache-control')).toBe('no-store')
    const { service_id } = (await service.admin('GET', '/admin/secrets')).body
    expect(reply.body).toEqual({
      service_id,
      app: { id: app.id, code: app.code, status: 'active', permission_scope: 'services', signing: 'shared' },
      kids: [kidOf(ACCESS_SECRET), kidOf(previousSecret)],
      time: reply.body.time,
    })
    expect(Math.abs(Date.parse(reply.body.time) - service.deps.clock())).toBeLessThan(60_000)
  })

  test('the previous secret is accepted too, and an inactive app is answered', async () => {
    const closed = await buildApp(service, { status: 'inactive', permission_scope: 'roles' })
    for (const secret of [ACCESS_SECRET, previousSecret])
      expect((await ask(closed, secret)).body.app).toMatchObject({ id: closed.id, status: 'inactive', permission_scope: 'roles' })
  })

  test('an unknown app code is 401 app_not_found, and a foreign signature is token_invalid', async () => {
    const gone = await buildApp(service)
    await service.admin('DELETE', `/admin/apps/${gone.id}`)
    for (const of of [{ code: 'no-such-app' }, gone]) {
      const { status, body } = await ask(of)
      expect([status, body.status, body.code]).toEqual([401, 401, 'app_not_found'])
    }
    expectError(await ask(app, 'a secret that nobody ever set here, 32 characters'), 'token_invalid')
    expectError(await ask({ code: 'no-such-app' }, 'a secret that nobody ever set here, 32 characters'), 'token_invalid')
    expectError(await service.call('GET', '/consumer'), 'token_missing')
    const now = Math.floor(service.deps.clock() / 1000)
    const old = assertionOf(app, { claims: { iat: now - 60, exp: now - 1 } })
    expectError(await service.call('GET', '/consumer', { token: old }), 'token_expired')
  })

  test('the id of the service is made once, however often the database is migrated', async () => {
    const { service_id } = (await ask()).body
    await transaction(service.deps, (deps) => seed(deps.db, deps.clock()))
    expect((await ask()).body.service_id).toBe(service_id)
    expect(await service.deps.db('service').pluck('id')).toEqual([service_id])
  })

  test('the call records the secrets of the caller, as the feed does', async () => {
    const seen = await buildApp(service)
    await ask(seen)
    const { consumers } = (await service.admin('GET', '/admin/secrets')).body
    expect(consumers.filter((each: Json) => each.app_code === seen.code)).toHaveLength(1)
  })
})
