// Login by a link in a mail, through the gate that all ways to sign in share.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { expectError } from '../support/expect-reply.ts'
import { buildOrganization } from '../support/factories.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { ADMIN_EMAIL, buildApp, buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { enableTwoFactor, loginWithCode } from '../support/totp.ts'

const { service, mailbox } = mailingFixture({ AUTH_LOCKOUT_THRESHOLD: '3' }, { frozen: true })
const app = appFixture(service)

const consume = (token: string, extra: Record<string, unknown> = {}) =>
  service.call('POST', '/auth/magic-link/consume', { body: { token, ...extra } })
const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).status
const setApp = (body: Json) => service.admin('PATCH', `/admin/apps/${app.id}`, { body })

/** A user, by default one who has proven the mailbox. */
async function build({ verified = true, through = app } = {}): Promise<Json> {
  const registered = await buildUser(service, through)
  const { token } = await mailbox.take(registered.user.email)
  if (verified) await service.call('POST', '/auth/email/verify', { body: { token, password: PASSWORD } })
  return registered
}

async function ask(email: string, through = app): Promise<Mail> {
  const reply = await service.call('POST', '/auth/magic-link', { body: { email, app_code: through.code } })
  expect(reply.status).toBe(202)
  return mailbox.take(email, /^Sign in to/)
}

test('a magic link answers like a login, names its method in the session, and ends no other session', async () => {
  const { user, access_token } = await build()
  const { token } = await ask(user.email)
  const { status, body, headers } = await consume(token)
  expect(status).toBe(200)
  expect(headers.get('cache-control')).toBe('no-store')
  const login = await service.login(user.email, app.code)
  expect(Object.keys(body)).toEqual(Object.keys(login.body))
  expect(body).toMatchObject({ token_type: 'Bearer', user: { ...user, email_verified: true }, app: { code: app.code } })
  expect(
    await service.deps
      .db('sessions')
      .where({ id: claimsOf(body.access_token).sid })
      .first(),
  ).toMatchObject({
    user_id: user.id,
    auth_method: 'magic_link',
  })
  expect([await me(body.access_token), await me(access_token)]).toEqual([200, 200])
  const success = await auditEvents(service, { user_id: user.id, event: 'login.success' })
  expect(success[0]).toMatchObject({ app_id: app.id, details: { auth_method: 'magic_link' } })
  expectError(await consume(token), 'invalid_token')
  expectError(await consume('gmt_unknown'), 'invalid_token')
})

test('a magic link works for 15 minutes, unless a newer one was sent', async () => {
  const { user } = await build()
  const first = await ask(user.email)
  service.advance(15 * 60)
  expectError(await consume(first.token), 'invalid_token')
  const second = await ask(user.email)
  const third = await ask(user.email)
  expectError(await consume(second.token), 'invalid_token')
  service.advance(15 * 60 - 1)
  expect((await consume(third.token)).status).toBe(200)
})

test('of twenty concurrent uses of a magic link, exactly one signs in', async () => {
  const { user } = await build()
  const { token } = await ask(user.email)
  const before = await countRows(service, 'sessions', { user_id: user.id })
  const replies = await atOnce(20, () => consume(token))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  for (const reply of replies) if (reply.status !== 200) expectError(reply, 'invalid_token')
  expect(await countRows(service, 'sessions', { user_id: user.id })).toBe(before + 1)
})

describe('the gate behind a magic link', () => {
  // covers provision-first-touch
  test('a magic link provisions first access, as a login does', async () => {
    const { user } = await build()
    const organization = await buildOrganization(service)
    const place = await buildApp(service, { auto_grant_on_signup: true, default_organization_id: organization.id })
    const { status, body } = await consume((await ask(user.email, place)).token)
    expect([status, body.app.code]).toEqual([200, place.code])
    const detail = (await service.admin('GET', `/admin/users/${user.id}`)).body
    expect(detail.organizations).toMatchObject([{ id: organization.id, role_codes: ['org_member'] }])
  })

  test('a magic link that the gate refuses stays unspent, and allowed_auth_methods does not restrict it', async () => {
    const closed = await buildApp(service)
    const { user } = await build()
    const denied = await ask(user.email, closed)
    expectError(await consume(denied.token), 'app_access_denied')
    const { token } = await ask(user.email)
    expectError(await consume(denied.token), 'invalid_token')
    const path = `/admin/users/${user.id}`
    await service.admin('PATCH', path, { body: { status: 'suspended' } })
    expectError(await consume(token), 'account_suspended')
    await service.admin('PATCH', path, { body: { status: 'active' } })
    await setApp({ status: 'inactive' })
    expectError(await consume(token), 'app_inactive')
    await setApp({ status: 'active', allowed_auth_methods: ['google'] })
    expect((await consume(token)).status).toBe(200)
    expect((await service.login(user.email, app.code)).status).toBe(200)
    await setApp({ allowed_auth_methods: [] })
    const reasons = (await auditEvents(service, { user_id: user.id, event: 'login.failed' })).map(({ reason }) => reason)
    expect(reasons).toEqual(['app_access_denied', 'account_suspended', 'app_inactive'])
  })

  test('a magic link does not admit an account that has moved out of the pools of the app', async () => {
    const { user } = await build()
    const { token } = await ask(user.email)
    const move = (namespace: string) => service.admin('PUT', `/admin/users/${user.id}/namespace`, { body: { namespace } })
    await move(`pool-${randomUUID()}`)
    expectError(await consume(token), 'invalid_token')
    await move('default')
    expect((await consume(token)).status).toBe(200)
  })

  test('a magic link admits a user who is locked out by wrong passwords, and keeps the failures counted', async () => {
    const { user } = await build()
    const { token } = await ask(user.email)
    for (let count = 0; count < 3; count += 1) await service.login(user.email, app.code, { password: 'wrong password' })
    expect((await consume(token)).status).toBe(200)
    expectError(await service.login(user.email, app.code), 'account_locked')
  })
})

describe('a magic link with a second factor', () => {
  test('a magic link asks for the code, and a missing or wrong code does not spend the link', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    const asked = await consume(token)
    expect([asked.status, asked.body]).toEqual([401, { requires_2fa: true }])
    expectError(await consume(token, { two_factor_code: authenticator.wrongCode() }), 'invalid_two_factor_code')
    const { status, body } = await consume(token, { two_factor_code: authenticator.code() })
    expect([status, await me(body.access_token)]).toEqual([200, 200])
    service.advance(30)
    const recovered = await consume((await ask(user.email)).token, { two_factor_code: authenticator.recoveryCodes[0] })
    expect(recovered.status).toBe(200)
  })

  test('wrong codes count for every sign-in method, and concurrent guesses do not bypass the lock', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    const replies = await atOnce(8, () => consume(token, { two_factor_code: authenticator.wrongCode() }))
    const codes = replies.map(({ body }) => body.code).sort()
    expect(codes.filter((code) => code === 'invalid_two_factor_code').length).toBeLessThanOrEqual(3)
    expect(new Set(codes)).toEqual(new Set(['account_locked', 'invalid_two_factor_code']))
    expectError(await consume(token, { two_factor_code: authenticator.code() }), 'account_locked')
    expectError(await loginWithCode(service, user, app, authenticator.code()), 'account_locked')
    const failures = await auditEvents(service, { user_id: user.id, event: 'login.failed', reason: 'invalid_two_factor_code' })
    expect(failures.length).toBeGreaterThan(0)
  })

  test('a right code is not checked while codes are locked, and works afterwards', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    for (let count = 0; count < 3; count += 1) await consume(token, { two_factor_code: authenticator.wrongCode() })
    const withCode = { two_factor_code: authenticator.code() }
    expectError(await consume(token, withCode), 'account_locked')
    await service.admin('POST', `/admin/users/${user.id}/unlock`)
    expect((await consume(token, withCode)).status).toBe(200)
  })

  test('wrong codes count towards the limit of magic links', async () => {
    const { user, access_token } = await build()
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    const wrong = () => consume(token, { two_factor_code: authenticator.wrongCode() })
    const codes: string[] = []
    for (let count = 0; count < 21; count += 1) codes.push((await wrong()).body.code)
    expect([codes[3], codes[19], codes[20]]).toEqual(['account_locked', 'account_locked', 'rate_limited'])
  })
})

describe('a magic link to an unproven account', () => {
  test("the owner takes over the account, and the stranger's password, second factor and sessions are removed", async () => {
    const { user, access_token, refresh_token } = await build({ verified: false })
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    // No code is asked for: the second factor belongs to someone who never proved the address.
    const { status, body } = await consume(token)
    expect([status, body.user]).toEqual([200, { ...user, email_verified: true }])
    expect([await me(body.access_token), await me(access_token)]).toEqual([200, 401])
    expect((await service.call('POST', '/auth/refresh', { body: { refresh_token } })).body.code).toBe('invalid_refresh_token')
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect([refreshed.status, await me(refreshed.body.access_token)]).toEqual([200, 200])
    expectError(await loginWithCode(service, user, app, authenticator.code()), 'invalid_credentials')
    expectError(await service.login(user.email, app.code), 'invalid_credentials')
    expect((await service.call('GET', '/auth/me', { token: refreshed.body.access_token })).body.two_factor).toBe(false)
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(0)

    const notice = await mailbox.take(user.email, /was confirmed/)
    expect(notice.links).toEqual([])
    expect(await auditEvents(service, { user_id: user.id, event: 'credentials.removed' })).toMatchObject([
      { app_id: app.id, details: { password: true, two_factor: true } },
    ])
  })

  test('the account keeps its password, second factor and sessions if the link is refused', async () => {
    const place = await buildApp(service, { registration_namespace: `pool-${randomUUID()}` })
    const { user } = await build({ verified: false, through: place })
    const { token } = await ask(user.email, place)
    expectError(await consume(token), 'app_access_denied')
    await service.admin('POST', `/admin/users/${user.id}/apps/${place.id}`)
    expect((await service.login(user.email, place.code)).body.user.email_verified).toBe(false)
  })

  test('an account proven by its own mail and password keeps its password and sessions', async () => {
    const { user, access_token } = await build()
    expect((await consume((await ask(user.email)).token)).status).toBe(200)
    expect([await me(access_token), (await service.login(user.email, app.code)).status]).toEqual([200, 200])
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(2)
  })

  test('an account proven while the link is checked keeps everything, and its second factor is asked for', async () => {
    const { user, access_token } = await buildUser(service, app)
    const verification = await mailbox.take(user.email)
    const authenticator = await enableTwoFactor(service, access_token)
    const { token } = await ask(user.email)
    const { db } = service.deps
    const verifyThenBegin = async (...args: Parameters<typeof db.transaction>) => {
      service.deps.db = db
      await service.call('POST', '/auth/email/verify', { token: access_token, body: { token: verification.token } })
      return db.transaction(...args)
    }
    service.deps.db = new Proxy(db, {
      get: (target, key) => (key === 'transaction' ? verifyThenBegin : Reflect.get(target, key)),
    })
    expect((await consume(token)).body).toEqual({ requires_2fa: true })
    expect([service.deps.db === db, await me(access_token)]).toEqual([true, 200])
    expect((await loginWithCode(service, user, app, authenticator.code())).status).toBe(200)
  })

  test('an account proven during concurrent links has its second factor asked for or removed, never skipped', async () => {
    for (let round = 0; round < 5; round += 1) {
      const registered = await buildUser(service, app)
      const { user, access_token } = registered
      const verification = await mailbox.take(user.email)
      await enableTwoFactor(service, access_token)
      const { token } = await ask(user.email)
      const [verified, ...consumed] = await Promise.all([
        service.call('POST', '/auth/email/verify', { token: access_token, body: { token: verification.token } }),
        consume(token),
        consume(token),
      ])
      const entered = consumed.filter(({ status }) => status === 200)
      const factors = await countRows(service, 'second_factors', { user_id: user.id })
      expect([verified.status === 200, entered.length, factors]).toEqual(factors === 0 ? [false, 1, 0] : [true, 0, 1])
    }
  })
})

test('a system_admin signs in by magic link without a grant, as at a login', async () => {
  const { token } = await (async () => {
    await service.admin('GET', '/admin/apps')
    return ask(ADMIN_EMAIL, { code: 'authctl' })
  })()
  expect((await consume(token)).body).toMatchObject({ user: { email: ADMIN_EMAIL }, app: { code: 'authctl' } })
})
