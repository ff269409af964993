// The server's clock jumps, as when a machine wakes up or its time is set. Tests what still works, and what
// has to wait until the clock gets there again.
import { describe, expect, onTestFinished, test } from 'vitest'
import { createDatabase, type DatabaseKind } from '../support/database.ts'
import { measured } from '../support/fault.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { sendWebhooks } from '../support/outbox.ts'
import { startReceiver } from '../support/receiver.ts'
import { buildApp, buildService, buildUser, type Json, type TestService } from '../support/service.ts'
import { enableTwoFactor, loginWithCode } from '../support/totp.ts'

const hour = 3_600
const threshold = 3
const windowSeconds = 300

async function startService(kind: DatabaseKind): Promise<TestService> {
  const database = await createDatabase(kind)
  onTestFinished(() => database.drop())
  return freezeClock(
    await buildService({
      DATABASE_URL: database.url,
      AUTH_LOCKOUT_THRESHOLD: String(threshold),
      AUTH_RATE_LIMIT_ACCOUNT: `5/${windowSeconds}`,
    }),
  )
}

const me = (service: TestService, token: string) => service.call('GET', '/auth/me', { token })
const refresh = (service: TestService, refresh_token: string) =>
  service.call('POST', '/auth/refresh', { body: { refresh_token } })
const grantingApp = (service: TestService, settings: object = {}) =>
  buildApp(service, { auto_grant_on_signup: true, ...settings })

/** Refreshes a pair, which must succeed, and returns the new pair. */
async function refreshed(service: TestService, pair: Json): Promise<Json> {
  const { status, body } = await refresh(service, pair.refresh_token)
  expect(status).toBe(200)
  return body
}

/** Waits until the webhooks in the outbox match `expected`, oldest first. */
async function expectOutbox(service: TestService, expected: Json[]): Promise<void> {
  await expect
    .poll(() => service.deps.db('outbox').where({ kind: 'webhook' }).orderBy('id'), { interval: 15 })
    .toMatchObject(expected)
}

describe.each<DatabaseKind>(['sqlite', 'postgres'])('a server on %s', (kind) => {
  test('sessions go on and ended ones stay ended if the clock steps an hour ahead and an hour back', async (context) => {
    const service = await startService(kind)
    const app = await grantingApp(service)
    const user = await buildUser(service, app)
    const loggedOut = await buildUser(service, app)
    const spent = user.refresh_token
    let pair = await refreshed(service, user)
    const before = pair
    expect((await service.call('POST', '/auth/logout', { body: { refresh_token: loggedOut.refresh_token } })).status).toBe(204)

    service.advance(hour)
    // As after any hour, the access token has expired and the session has not.
    expect((await me(service, pair.access_token)).body.code).toBe('token_expired')
    pair = await refreshed(service, pair)
    expect((await me(service, pair.access_token)).status).toBe(200)
    expect((await refresh(service, loggedOut.refresh_token)).body.code).toBe('invalid_refresh_token')
    const registeredAhead = await buildUser(service, app)
    const ahead = pair

    service.advance(-hour)
    // A token from the future is invalid by the token contract, but its session is valid.
    expect((await me(service, ahead.access_token)).body.code).toBe('token_invalid')
    pair = await refreshed(service, pair)
    expect((await me(service, pair.access_token)).status).toBe(200)
    expect((await me(service, before.access_token)).status).toBe(200)
    expect((await me(service, (await refreshed(service, registeredAhead)).access_token)).status).toBe(200)
    expect((await refresh(service, loggedOut.refresh_token)).body.code).toBe('invalid_refresh_token')
    expect((await service.login(user.user.email, app.code)).status).toBe(200)
    // Using a refresh token twice ends the session, on either side of the jump.
    expect((await refresh(service, spent)).body.code).toBe('refresh_token_reused')
    expect((await refresh(service, pair.refresh_token)).body.code).toBe('invalid_refresh_token')
    expect((await me(service, pair.access_token)).body.code).toBe('token_revoked')
    measured(context, 'all sessions go on by a refresh; access tokens of the hour ahead are refused until then')
  })

  test('lists keep the order of creation and new messages are sent at once if the clock steps an hour back', async (context) => {
    const service = await startService(kind)
    const receiver = await startReceiver()
    sendWebhooks(service)
    const app = await grantingApp(service, { webhooks: [{ name: 'crm', url: receiver.url }] })
    const ids: string[] = []
    for (const step of [0, hour, -hour]) {
      service.advance(step)
      ids.push((await buildUser(service, app)).user.id)
      // Wait for delivery: if the clock jumped past the lease of an attempt in progress,
      // it would be made twice, under the same id.
      await expectOutbox(
        service,
        ids.map(() => ({ status: 'delivered' })),
      )
    }
    const { items } = (await service.admin('GET', `/admin/apps/${app.id}/users`)).body
    expect(items.map(({ user_id }: Json) => user_id).reverse()).toEqual(ids)
    expect(receiver.requests.map(({ body }) => JSON.parse(body).user.id)).toEqual(ids)
    measured(context, '3 of 3 webhooks delivered once, in order')
  })

  test('a retry that is due later is made, at the latest at its time, if the clock steps an hour back', async (context) => {
    const service = await startService(kind)
    const receiver = await startReceiver((response, _, turn) => void response.writeHead(turn === 1 ? 500 : 204).end())
    sendWebhooks(service)
    const app = await grantingApp(service, { webhooks: [{ name: 'crm', url: receiver.url }] })
    service.advance(hour)
    await buildUser(service, app)
    await expectOutbox(service, [{ status: 'pending', attempts: 1 }])
    service.advance(-hour)
    // A message that is due later does not delay one that is due now.
    await buildUser(service, app)
    await expectOutbox(service, [{ status: 'pending' }, { status: 'delivered' }])
    service.advance(hour + 2)
    service.deps.outboxBell.ring()
    await expectOutbox(service, [{ status: 'delivered', attempts: 2 }, { status: 'delivered' }])
    measured(context, 'delivered, up to the size of the step later')
  })

  test('limits do not open early after a step back but hold for the step longer, and an unlock ends the lock', async (context) => {
    const service = await startService(kind)
    const app = await grantingApp(service)
    const { user } = await buildUser(service, app)
    service.advance(hour)
    for (let tries = 0; tries < threshold; tries += 1)
      expect((await service.login(user.email, app.code, { password: 'wrong' })).status).toBe(401)
    service.advance(-hour)
    const locked = await service.login(user.email, app.code)
    expect([locked.status, locked.body.code]).toEqual([423, 'account_locked'])
    expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(hour + 900)
    expect((await service.admin('POST', `/admin/users/${user.id}/unlock`)).status).toBe(204)
    expect((await service.login(user.email, app.code)).status).toBe(200)

    const nobody = 'nobody@example.com'
    service.advance(hour)
    const codes: string[] = []
    for (let tries = 0; tries < 7; tries += 1) codes.push((await service.login(nobody, app.code)).body.code)
    expect(codes.at(-1)).toBe('rate_limited')
    service.advance(-hour)
    const limited = await service.login(nobody, app.code)
    expect(limited.status).toBe(429)
    expect(Number(limited.headers.get('retry-after'))).toBeLessThanOrEqual(hour + windowSeconds)
    measured(context, 'lockout and rate limit end up to the size of the step later')
  })

  test('a spent second-factor code stays spent after a step back, and a recovery code opens meanwhile', async (context) => {
    const service = await startService(kind)
    const app = await grantingApp(service)
    const { user, access_token } = await buildUser(service, app)
    const factor = await enableTwoFactor(service, access_token)
    service.advance(hour)
    expect((await loginWithCode(service, user, app, factor.code())).status).toBe(200)
    service.advance(-hour)
    expect((await loginWithCode(service, user, app, factor.code())).body.code).toBe('invalid_two_factor_code')
    expect((await loginWithCode(service, user, app, factor.recoveryCodes[0])).status).toBe(200)
    service.advance(hour + 30)
    expect((await loginWithCode(service, user, app, factor.code())).status).toBe(200)
    measured(context, 'codes are taken again when the clock has come there; recovery codes at once')
  })
})
