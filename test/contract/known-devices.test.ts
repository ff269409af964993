// Someone who guesses passwords locks out only other guessers: each way to sign in has its own limit and lockout, and a
// device on which the user has signed in before is one more way.
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { samples } from '../support/lane.ts'
import { buildMailingService } from '../support/mailbox.ts'
import { auditEvents } from '../support/rows.ts'
import {
  buildApp,
  buildService,
  buildUser,
  type Json,
  PASSWORD,
  type Reply,
  someEmail,
  type TestService,
} from '../support/service.ts'
import { enableTwoFactor } from '../support/totp.ts'

const wrong = { password: 'not this password' }

interface World {
  service: TestService
  app: Json
  user: Json
  /** The device token from the registration. */
  device: string
}

async function build(settings: Record<string, string> = {}): Promise<World> {
  const service = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '5/300', ...settings }))
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user, device_token: device } = await buildUser(service, app)
  return { service, app, user, device }
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index)

async function lock({ service, app, user }: World): Promise<void> {
  for (const _ of times(3)) expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
  expectError(await service.login(user.email, app.code), 'account_locked')
}

/** The SQL of the statements that `run` causes. */
async function statementsOf(service: TestService, run: () => Promise<unknown>): Promise<string[]> {
  const { client } = service.deps.db
  const send = client._query
  const texts: string[] = []
  client._query = function (connection: unknown, statement: { sql: string }) {
    texts.push(statement.sql)
    return send.call(this, connection, statement)
  }
  await run()
  client._query = send
  return texts
}

describe('a stranger who guesses for an hour from many addresses', () => {
  test('the known device signs in throughout, a new one after the lock, and no answer reveals who has an address', async () => {
    const service = freezeClock(await buildService({ AUTH_TRUST_PROXY: '1', AUTH_RATE_LIMIT_IP: '100/60' }))
    const app = await buildApp(service, { auto_grant_on_signup: true })
    const { user, device_token } = await buildUser(service, app)
    let device = device_token
    const nobody = someEmail()
    const guess = async (email: string, address: string): Promise<Reply> =>
      service.call('POST', '/auth/login', {
        body: { email, app_code: app.code, ...wrong },
        headers: { 'x-forwarded-for': address, 'x-request-id': 'guess' },
      })
    const told = ({ status, body, headers }: Reply) => {
      const { date, ...rest } = Object.fromEntries(headers)
      return { status, body, headers: rest }
    }

    const statuses = new Set<number>()
    for (const minute of times(samples(60))) {
      for (const second of times(8)) {
        const address = `203.0.113.${(minute * 8 + second) % 250}`
        const replies: Reply[] = []
        const sent: string[][] = []
        for (const email of [user.email, nobody])
          sent.push(await statementsOf(service, async () => replies.push(await guess(email, address))))
        const [known, unknown] = replies.map(told)
        expect(unknown).toEqual(known)
        expect(sent[1]).toEqual(sent[0])
        statuses.add(known!.status)
      }
      const owner = await service.login(user.email, app.code, { device_token: device })
      expect([minute, owner.status]).toEqual([minute, 200])
      device = owner.body.device_token
      service.advance(60)
    }
    expect(statuses).toEqual(new Set([401, 423, 429]))

    service.advance(900)
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })
})

describe('a device token', () => {
  test('every login returns a device token, which opens nothing', async () => {
    const { service, app, user, device } = await build()
    expect(device).toMatch(/^gdt_[\w.-]+$/)
    const { body } = await service.login(user.email, app.code)
    expect(body.device_token).toMatch(/^gdt_/)
    expectError(await service.login(user.email, app.code, { ...wrong, device_token: device }), 'invalid_credentials')
    expectError(await service.call('GET', '/auth/me', { token: device }), 'token_invalid')
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect(refreshed.status).toBe(200)
    expect(refreshed.body).not.toHaveProperty('device_token')
  })

  test('a device token does not replace the second factor', async () => {
    const { service, app, user } = await build()
    const { access_token } = (await service.login(user.email, app.code)).body
    const phone = await enableTwoFactor(service, access_token)
    const { body } = await service.login(user.email, app.code, { two_factor_code: phone.code() })
    const again = await service.login(user.email, app.code, { device_token: body.device_token })
    expect([again.status, again.body]).toEqual([401, { requires_2fa: true }])
  })

  test('a device token signs in past a lock and a full limit, also through register_or_login, and clears neither', async () => {
    const world = await build()
    const { service, app, user, device } = world
    await lock(world)
    for (const _ of times(2)) await service.login(user.email, app.code, wrong)
    expectError(await service.login(user.email, app.code), 'rate_limited')
    const entering = { mode: 'register_or_login', device_token: device }
    expect((await service.register(user.email, app.code, entering)).status).toBe(200)
    expect((await service.login(user.email, app.code, { device_token: device })).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'rate_limited')
    service.advance(300)
    expectError(await service.login(user.email, app.code), 'account_locked')
  })

  test('a device token has its own limit and lockout: its wrong passwords block only that device', async () => {
    const world = await build()
    const { service, app, user, device } = world
    const other = (await service.login(user.email, app.code)).body.device_token
    for (const _ of times(3)) {
      expectError(await service.login(user.email, app.code, { ...wrong, device_token: device }), 'invalid_credentials')
    }
    expectError(await service.login(user.email, app.code, { device_token: device }), 'account_locked')
    expectError(await service.login(user.email, app.code, { device_token: device }), 'account_locked')
    expectError(await service.login(user.email, app.code, { device_token: device }), 'rate_limited')
    expect((await service.login(user.email, app.code, { device_token: other })).status).toBe(200)
    expect((await service.login(user.email, app.code)).status).toBe(200)
    // None of that cleared the failures of the device.
    service.advance(300)
    expectError(await service.login(user.email, app.code, { device_token: device }), 'account_locked')
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    expect((await service.login(user.email, app.code, { device_token: device })).status).toBe(200)
  })

  test('50 wrong passwords at once on one device are answered 401 up to the threshold, and 423 above it', async () => {
    const { service, app, user, device } = await build({ AUTH_RATE_LIMIT_ACCOUNT: 'off' })
    const replies = await atOnce(50, () => service.login(user.email, app.code, { ...wrong, device_token: device }))
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(3)
    expect(replies.filter(({ status }) => status === 423)).toHaveLength(47)
    expect((await service.login(user.email, app.code)).status).toBe(200)
  })

  test('a device token that is blank, unknown, changed or of another user or an unknown address is ignored', async () => {
    const world = await build({ AUTH_RATE_LIMIT_ACCOUNT: 'off' })
    const { service, app, user, device } = world
    const foreign = (await buildUser(service, app)).device_token
    await lock(world)
    const hasher = await countBcrypts(service)
    const nobody = someEmail()
    for (const _ of times(3)) await service.login(nobody, app.code, wrong)
    for (const device_token of ['', null, 'x', 'gdt_', foreign, `${device.slice(0, -1)}${device.endsWith('A') ? 'E' : 'A'}`]) {
      for (const email of [user.email, nobody])
        expectError(await service.login(email, app.code, { device_token }), 'account_locked')
    }
    expectError(await service.login(nobody, app.code, { device_token: device }), 'account_locked')
    expect(hasher.verified).toBe(3)
    expectError(await service.login(user.email, app.code, { device_token: 7 }), 'validation_failed')
  })

  test('a device token causes the same statements whether or not it is valid for the user', async () => {
    const { service, app, user, device } = await build({ AUTH_RATE_LIMIT_ACCOUNT: 'off', AUTH_LOCKOUT_THRESHOLD: '1000' })
    const foreign = (await buildUser(service, app)).device_token
    const statements = (email: string, device_token?: string) =>
      statementsOf(service, () => service.login(email, app.code, { ...wrong, device_token }))
    const absent = await statements(user.email)
    expect(await statements(user.email, foreign)).toEqual(absent)
    expect(await statements(someEmail(), foreign)).toEqual(absent)
    expect(await statements(user.email, device)).toEqual(absent)
  })

  test('a device token lives for 180 days', async () => {
    const world = await build()
    const { service, app, user, device } = world
    service.advance(180 * 86_400 - 1)
    await lock(world)
    expect((await service.login(user.email, app.code, { device_token: device })).status).toBe(200)
    service.advance(1)
    expectError(await service.login(user.email, app.code, { device_token: device }), 'account_locked')
  })

  test('a device token does not count in an app that finds another user with the address', async () => {
    const { service, app, user, device } = await build()
    const elsewhere = await buildApp(service, { auto_grant_on_signup: true, registration_namespace: 'elsewhere' })
    await service.register(user.email, elsewhere.code)
    for (const _ of times(3)) await service.login(user.email, elsewhere.code, wrong)
    expectError(await service.login(user.email, elsewhere.code, { device_token: device }), 'account_locked')
    expect((await service.login(user.email, app.code, { device_token: device })).status).toBe(200)
  })

  test('a device token is redacted from webhooks, wherever it appears', async () => {
    const { service } = await build()
    const webhooks = [{ name: 'crm', url: 'http://127.0.0.1:9/hook', events: ['user.registered'], enabled: true }]
    const app = await buildApp(service, { auto_grant_on_signup: true, webhooks })
    const device_token = 'gdt_of_another_account'
    const { body } = await service.register(someEmail(), app.code, { device_token, extra: { same: device_token } })
    const [row] = await service.deps.db('outbox').where({ user_id: body.user.id, kind: 'webhook' })
    expect(JSON.parse(row.payload).registration).toMatchObject({ device_token: '[REDACTED]', extra: { same: '[REDACTED]' } })
    expect(row.payload).not.toContain('gdt_')
  })
})

describe('the end of a device token', () => {
  /** Locks the address, and returns whether the device token still gets past the lock. */
  async function isGood(world: World, password = PASSWORD, extra: object = {}): Promise<boolean> {
    const { service, app, user, device } = world
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    await service.deps.db('rate_limits').delete()
    for (const _ of times(3)) expectError(await service.login(user.email, app.code, wrong), 'invalid_credentials')
    const { status } = await service.login(user.email, app.code, { password, device_token: device, ...extra })
    expect([200, 423]).toContain(status)
    return status === 200
  }

  test('a changed password ends the device token, and its answer contains a new one', async () => {
    const world = await build()
    const { service, app, user } = world
    const { access_token: token } = (await service.login(user.email, app.code)).body
    const body = { current_password: PASSWORD, new_password: 'another horse battery staple' }
    const changed = await service.call('POST', '/auth/password/change', { token, body })
    expect(await isGood(world, body.new_password)).toBe(false)
    expect(await isGood({ ...world, device: changed.body.device_token }, body.new_password)).toBe(true)
  })

  test('logout-all ends the device token, and the logout of a session does not', async () => {
    const world = await build()
    const { service, app, user } = world
    const { access_token: token, refresh_token } = (await service.login(user.email, app.code)).body
    await service.call('POST', '/auth/logout', { body: { refresh_token } })
    expect(await isGood(world)).toBe(true)
    const { access_token } = (await service.login(user.email, app.code, { device_token: world.device })).body
    expect(token).not.toBe(access_token)
    await service.call('POST', '/auth/logout-all', { token: access_token })
    expect(await isGood(world)).toBe(false)
  })

  test('a changed address ends the device token', async () => {
    const world = await build()
    const { service, user } = world
    expect(await isGood(world)).toBe(true)
    const email = someEmail()
    await service.admin('PATCH', `/admin/users/${user.id}`, { body: { email } })
    expect(await isGood({ ...world, user: { ...user, email } })).toBe(false)
  })

  test('activating or removing a second factor ends the device token', async () => {
    const world = await build()
    const { service, app, user } = world
    const { access_token } = (await service.login(user.email, app.code)).body
    const phone = await enableTwoFactor(service, access_token)
    expect(await isGood(world, PASSWORD, { two_factor_code: phone.code() })).toBe(false)
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    const entered = await service.login(user.email, app.code, { two_factor_code: phone.code() })
    const second = { ...world, device: entered.body.device_token }
    service.advance(30)
    expect(await isGood(second, PASSWORD, { two_factor_code: phone.code() })).toBe(true)
    await service.admin('DELETE', `/admin/users/${user.id}/2fa`)
    expect(await isGood(second)).toBe(false)
  })

  test('a device token ends with its signing key, and not while that is AUTH_ENCRYPTION_KEY_PREVIOUS', async () => {
    const world = await build()
    const [old] = world.service.deps.config.encryptionKeys
    world.service.deps.config.encryptionKeys = [Buffer.alloc(32, 9), old]
    expect(await isGood(world)).toBe(true)
    world.service.deps.config.encryptionKeys = [Buffer.alloc(32, 9)]
    expect(await isGood(world)).toBe(false)
  })
})

test('a magic link signs in while the password is locked and its limit is full, and clears neither', async () => {
  const { service: mailing, mailbox } = await buildMailingService({
    AUTH_LOCKOUT_THRESHOLD: '3',
    AUTH_RATE_LIMIT_ACCOUNT: '5/300',
  })
  const service = freezeClock(mailing)
  const app = await buildApp(service, { auto_grant_on_signup: true })
  const { user } = await buildUser(service, app)
  const verification = await mailbox.take(user.email)
  await service.call('POST', '/auth/email/verify', { body: { token: verification.token, password: PASSWORD } })
  for (const _ of times(5)) await service.login(user.email, app.code, wrong)
  await service.call('POST', '/auth/magic-link', { body: { email: user.email, app_code: app.code } })
  const { token } = await mailbox.take(user.email, /^Sign in to/)
  const entered = await service.call('POST', '/auth/magic-link/consume', { body: { token } })
  expect(entered.status).toBe(200)
  expectError(await service.login(user.email, app.code), 'rate_limited')
  service.advance(300)
  expectError(await service.login(user.email, app.code), 'account_locked')
  expect((await service.login(user.email, app.code, { device_token: entered.body.device_token })).status).toBe(200)
})

test('the only admin signs in on a known device while strangers keep the address locked', async () => {
  const { service } = await build()
  const { user, device_token } = (await service.login('admin@example.com', 'authctl')).body
  for (const _ of times(6)) await service.login(user.email, 'authctl', wrong)
  expect((await service.login(user.email, 'authctl', { device_token })).status).toBe(200)
  expect((await auditEvents(service, { event: 'user.locked' })).map(({ user_id }) => user_id)).toEqual([user.id])
})
