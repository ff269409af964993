// A user sets a new password by mail.
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { atOnce } from '../support/chance.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError } from '../support/expect-reply.ts'
import { appFixture, mailingFixture } from '../support/fixtures.ts'
import { allSent, type Mail } from '../support/mailbox.ts'
import { auditEvents } from '../support/rows.ts'
import { buildUser, claimsOf, type Json, PASSWORD } from '../support/service.ts'
import { enableTwoFactor, loginWithCode } from '../support/totp.ts'

const NEW_PASSWORD = 'a new horse battery staple'
const { service, mailbox } = mailingFixture({ AUTH_LOCKOUT_THRESHOLD: '3' })
const app = appFixture(service)
const otherApp = appFixture(service)

const reset = (token: string, password: unknown = NEW_PASSWORD) =>
  service.call('POST', '/auth/password/reset', { body: { token, password } })
const me = async (token: string) => (await service.call('GET', '/auth/me', { token })).status
const refresh = (refresh_token: string) => service.call('POST', '/auth/refresh', { body: { refresh_token } })
const verify = (token: string) => service.call('POST', '/auth/email/verify', { body: { token } })

/** A user who has read the mail of the registration. */
async function build({ verified = true } = {}): Promise<Json> {
  const registered = await buildUser(service, app)
  const { token } = await mailbox.take(registered.user.email)
  if (verified) await verify(token)
  return registered
}

async function forgot(email: string): Promise<Mail> {
  expect((await service.call('POST', '/auth/password/forgot', { body: { email, app_code: app.code } })).status).toBe(202)
  return mailbox.take(email, /^Set a new password/)
}

test('the new password signs in, and the old one and all former tokens and sessions of every app are invalid', async () => {
  const { user, access_token, refresh_token } = await build()
  const other = (await service.login(user.email, otherApp.code)).body
  const { token } = await forgot(user.email)
  expect(await me(access_token)).toBe(200)

  const { status, body } = await reset(token)
  expect([status, body]).toEqual([204, ''])
  expect([await me(access_token), await me(other.access_token)]).toEqual([401, 401])
  for (const each of [refresh_token, other.refresh_token]) expectError(await refresh(each), 'invalid_refresh_token')
  expectError(await service.login(user.email, app.code), 'invalid_credentials')
  const login = await service.login(user.email, app.code, { password: NEW_PASSWORD })
  expect(login.status).toBe(200)
  expect(claimsOf(login.body.access_token).tv).toBe(claimsOf(access_token).tv + 1)
  expect(await auditEvents(service, { user_id: user.id, event: 'password.reset' })).toMatchObject([{ app_id: app.id }])
  expectError(await reset(token), 'invalid_token')
})

test('a user without a password gets one by a reset', async () => {
  const email = `${randomUUID()}@example.com`
  const { body } = await service.admin('POST', '/admin/users', { body: { email } })
  await service.admin('POST', `/admin/users/${body.id}/apps/${app.code}`)
  expectError(await service.login(email, app.code), 'invalid_credentials')
  expect((await reset((await forgot(email)).token)).status).toBe(204)
  expect((await service.login(email, app.code, { password: NEW_PASSWORD })).status).toBe(200)
})

describe('a reset token', () => {
  test('a reset token is valid for one hour', async () => {
    const { user } = await build()
    const { token } = await forgot(user.email)
    service.advance(3_600)
    expectError(await reset(token), 'invalid_token')
    const next = await forgot(user.email)
    service.advance(3_590)
    expect((await reset(next.token)).status).toBe(204)
  })

  test('a refused password does not spend the token, and an invalid token costs no hash', async () => {
    const { user } = await build()
    const { token } = await forgot(user.email)
    for (const [password, code] of [
      ['short', 'too_short'],
      [user.email, 'invalid_value'],
      ['x'.repeat(1_025), 'too_long'],
      [undefined, 'required'],
      [12_345_678, 'invalid_type'],
    ]) {
      const refused = await service.call('POST', '/auth/password/reset', { body: { token, password } })
      expectError(refused, 'validation_failed', String(code))
      expect(refused.body.errors).toMatchObject([{ path: 'password', code }])
    }
    const hasher = await countBcrypts(service)
    expectError(await reset(`${token}x`), 'invalid_token')
    expectError(await reset(''), 'invalid_token')
    expect(hasher.hashed).toBe(0)
    expect((await reset(token)).status).toBe(204)
    expect(hasher.hashed).toBe(1)
  })

  test('a reset token is invalid after a newer one, after a change of address, and during a suspension', async () => {
    const { user } = await build()
    const first = await forgot(user.email)
    const second = await forgot(user.email)
    expectError(await reset(first.token), 'invalid_token')
    const path = `/admin/users/${user.id}`
    await service.admin('PATCH', path, { body: { status: 'suspended' } })
    expectError(await reset(second.token), 'invalid_token')
    await service.admin('PATCH', path, { body: { status: 'active', email: `moved-${user.email}` } })
    expectError(await reset(second.token), 'invalid_token')
    await service.admin('PATCH', path, { body: { email: user.email } })
    expect((await reset(second.token)).status).toBe(204)
  })

  test('one of twenty concurrent uses of a token succeeds, and its password signs in', async () => {
    const { user } = await build()
    const { token } = await forgot(user.email)
    const replies = await atOnce(20, (index) => reset(token, `${NEW_PASSWORD} ${index}`))
    const won = replies.findIndex(({ status }) => status === 204)
    for (const [index, reply] of replies.entries()) if (index !== won) expectError(reply, 'invalid_token')
    expect((await service.login(user.email, app.code, { password: `${NEW_PASSWORD} ${won}` })).status).toBe(200)
    expect(await auditEvents(service, { user_id: user.id, event: 'password.reset' })).toHaveLength(1)
  })
})

test('a reset clears a lockout', async () => {
  const { user } = await build()
  const { token } = await forgot(user.email)
  for (let count = 0; count < 3; count += 1) await service.login(user.email, app.code, { password: 'wrong password' })
  expectError(await service.login(user.email, app.code), 'account_locked')
  await reset(token)
  expect((await service.login(user.email, app.code, { password: NEW_PASSWORD })).status).toBe(200)
})

describe('the second factor after a reset', () => {
  test('the second factor stays active, whether or not the account is verified', async () => {
    for (const verified of [true, false]) {
      const { user, access_token } = await build({ verified })
      const authenticator = await enableTwoFactor(service, access_token)
      await reset((await forgot(user.email)).token)
      const login = (code?: string) => loginWithCode(service, user, app, code, NEW_PASSWORD)
      expect((await login()).body).toEqual({ requires_2fa: true })
      expect((await login(authenticator.code())).status).toBe(200)
    }
  })
})

describe('an unverified address after a reset', () => {
  const isVerified = async (user: Json) => (await service.admin('GET', `/admin/users/${user.id}`)).body.email_verified

  test('the reset verifies the address', async () => {
    const { user } = await build({ verified: false })
    await reset((await forgot(user.email)).token)
    expect(await isVerified(user)).toBe(true)
  })

  test('the address stays unverified if a second factor exists, so that a magic link can still remove it', async () => {
    const { user, access_token } = await build({ verified: false })
    await enableTwoFactor(service, access_token)
    await reset((await forgot(user.email)).token)
    expect(await isVerified(user)).toBe(false)
  })
})

test('links that could sign in or set a password are invalid after a reset or a change of the password', async () => {
  const magicLink = async (email: string) => {
    await service.call('POST', '/auth/magic-link', { body: { email, app_code: app.code } })
    return (await mailbox.take(email, /^Sign in/)).token
  }
  const consume = (token: string) => service.call('POST', '/auth/magic-link/consume', { body: { token } })
  const { user } = await build()
  const first = await magicLink(user.email)
  await reset((await forgot(user.email)).token)
  expectError(await consume(first), 'invalid_token')

  const second = await magicLink(user.email)
  const leaked = await forgot(user.email)
  const { access_token } = (await service.login(user.email, app.code, { password: NEW_PASSWORD })).body
  const body = { current_password: NEW_PASSWORD, new_password: PASSWORD }
  expect((await service.call('POST', '/auth/password/change', { token: access_token, body })).status).toBe(200)
  expectError(await consume(second), 'invalid_token')
  expectError(await reset(leaked.token), 'invalid_token')
})

describe('notices without a link', () => {
  const notice = async (user: Json, subject: RegExp): Promise<Mail> => {
    const mail = await mailbox.take(user.email, subject)
    expect([mail.links, mail.html.includes('<a ')]).toEqual([[], false])
    return mail
  }

  test('a notice goes to the address after a reset and after a change of the password', async () => {
    const { user } = await build()
    const { token } = await forgot(user.email)
    await service.call('POST', '/auth/password/reset', {
      body: { token, password: NEW_PASSWORD },
      headers: { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Chrome/131.0 <b>see evil.example</b>' },
    })
    const told = await notice(user, /^Your password for .* was reset/)
    expect(told.text).toMatch(/When and where: Chrome on Windows, \d{1,2} \w+ \d{4},\s\d\d:\d\d\sUTC,\sfrom\s127\.0\.0\.1\n/)
    expect(told.text + told.html).not.toMatch(/evil|Mozilla/)

    const { access_token } = (await service.login(user.email, app.code, { password: NEW_PASSWORD })).body
    const body = { current_password: NEW_PASSWORD, new_password: PASSWORD }
    expect((await service.call('POST', '/auth/password/change', { token: access_token, body })).status).toBe(200)
    await notice(user, /^Your password for .* was changed/)
  })

  test("a notice reports the second factor turned on or off, by the user or by an admin, without the admin's address", async () => {
    const { user, access_token: token } = await build()
    const authenticator = await enableTwoFactor(service, token)
    await notice(user, /turned on/)
    const off = { token, body: { password: PASSWORD, code: authenticator.code() } }
    expect((await service.call('POST', '/auth/2fa/disable', off)).status).toBe(204)
    expect((await notice(user, /turned off/)).text).toMatch(/from\s127\.0\.0\.1/)
    await enableTwoFactor(service, token)
    await notice(user, /turned on/)
    expect((await service.admin('DELETE', `/admin/users/${user.id}/2fa`)).status).toBe(204)
    const told = await notice(user, /turned off/)
    expect(told.text).toContain('An administrator')
    expect(told.text).not.toMatch(/from\s127/)
  })

  test('a failed attempt causes no notice', async () => {
    const { user, access_token: token } = await build()
    await service.call('POST', '/auth/password/change', {
      token,
      body: { current_password: 'wrong one', new_password: NEW_PASSWORD },
    })
    await reset('gmt_unknown')
    await allSent(service)
    expect(mailbox.mailsTo(user.email)).toHaveLength(1)
  })
})
