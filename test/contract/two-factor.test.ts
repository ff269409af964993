import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { issueMailToken } from '../../packages/server/src/resources/mail/mail-tokens.ts'
import { removeExpired } from '../../packages/server/src/workers/cleanup.ts'
import { countBcrypts } from '../support/counting-hasher.ts'
import { expectError, expectHeaders, faultsOf } from '../support/expect-reply.ts'
import { buildInvitation, buildOrganization, closeAccount } from '../support/factories.ts'
import { appFixture, serviceFixture } from '../support/fixtures.ts'
import { freezeClock } from '../support/frozen-clock.ts'
import { auditEvents, countRows } from '../support/rows.ts'
import { buildApp, buildService, buildUser, type Json, PASSWORD, type Reply, type TestService } from '../support/service.ts'
import { type Authenticator, enableTwoFactor, loginWithCode, totpAt } from '../support/totp.ts'

const service = serviceFixture({}, { frozen: true })
const app = appFixture(service)

interface Protected {
  user: Json
  token: string
  phone: Authenticator
}

/** A user with an active second factor. */
async function buildProtected(on = service, through = app): Promise<Protected> {
  const { user, access_token: token } = await buildUser(on, through)
  return { user, token, phone: await enableTwoFactor(on, token) }
}

const setUp = (token: string) => service.call('POST', '/auth/2fa/setup', { token })
const activate = (token: string, code: unknown) => service.call('POST', '/auth/2fa/activate', { token, body: { code } })
const disable = (token: string, body: unknown) => service.call('POST', '/auth/2fa/disable', { token, body })
const isActive = async (token: string) => (await service.call('GET', '/auth/me', { token })).body.two_factor

/** How many wrong passwords and wrong codes are counted. */
async function failuresOf(on: TestService, user: Json): Promise<{ passwords: number; codes: number }> {
  const rows: { key: string; user_id: string | null; failures: number }[] = await on.deps.db('lockouts')
  const of = (kind: string) => rows.find(({ key, user_id }) => user_id === user.id && key.startsWith(kind))?.failures ?? 0
  return { passwords: of('address:') + of('session:'), codes: of('two-factor:') }
}

async function attemptsOf(on: TestService): Promise<number> {
  const [row] = await on.deps.db('rate_limits').where('key', 'like', 'account:%').sum({ n: 'count' })
  return Number(row!.n ?? 0)
}

function expectChallenge(reply: Reply): void {
  expectHeaders(reply)
  expect(reply.status).toBe(401)
  expect(reply.body).toEqual({ requires_2fa: true })
  expect(reply.headers.get('cache-control')).toBe('no-store')
  expect(reply.headers.get('www-authenticate')).toBeNull()
}

describe('set-up and activation', () => {
  test('a set-up gives a seed, its code gives ten recovery codes, and only then does a login ask for a code', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const given = await setUp(token)
    expect(given.status).toBe(200)
    expect(given.headers.get('cache-control')).toBe('no-store')
    expect(given.body).toEqual({ secret: expect.stringMatching(/^[A-Z2-7]{32}$/), otpauth_url: expect.any(String) })
    const url = new URL(given.body.otpauth_url)
    expect(decodeURIComponent(url.pathname)).toBe(`/gatehouse:${user.email}`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      issuer: 'gatehouse',
      secret: given.body.secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
    expect(await isActive(token)).toBe(false)
    expect((await loginWithCode(service, user, app)).status).toBe(200)

    const activated = await activate(token, totpAt(given.body.secret, service.deps.clock()))
    expect(activated.status).toBe(200)
    expect(activated.headers.get('cache-control')).toBe('no-store')
    expect(Object.keys(activated.body)).toEqual(['recovery_codes'])
    expect(new Set(activated.body.recovery_codes).size).toBe(10)
    for (const code of activated.body.recovery_codes) expect(code).toMatch(/^[0-9a-z]{5}-[0-9a-z]{5}$/)
    expect(await isActive(token)).toBe(true)
    expectChallenge(await loginWithCode(service, user, app))
  })

  test('a repeated set-up replaces the seed before activation, and is refused after it', async () => {
    const { access_token: token } = await buildUser(service, app)
    const first = (await setUp(token)).body.secret
    const second = (await setUp(token)).body.secret
    expect(second).not.toBe(first)
    const now = service.deps.clock()
    expectError(await activate(token, totpAt(first, now)), 'invalid_two_factor_code')
    expect((await activate(token, totpAt(second, now))).status).toBe(200)
    expectError(await setUp(token), 'two_factor_active')
    expectError(await activate(token, totpAt(second, now + 30_000)), 'two_factor_active')
    expect(await isActive(token)).toBe(true)
  })

  test('a user without a set-up can neither activate nor disable', async () => {
    const { access_token: token } = await buildUser(service, app)
    expectError(await activate(token, '123456'), 'two_factor_not_set_up')
    expectError(await disable(token, { password: PASSWORD, code: '123456' }), 'two_factor_not_set_up')
    await setUp(token)
    expectError(await disable(token, { password: PASSWORD, code: '123456' }), 'two_factor_not_set_up')
  })

  test.for([
    [undefined, 'code: required'],
    ['', 'code: too_short'],
    ['  ', 'code: too_short'],
    [123456, 'code: invalid_type'],
    [['123456'], 'code: invalid_type'],
    ['1'.repeat(2_001), 'code: too_long'],
  ] as [unknown, string][])('a code of %j is refused', async ([code, fault]) => {
    const { access_token: token } = await buildUser(service, app)
    const replies = [await activate(token, code)]
    // Without a code, the login itself may be proof enough.
    if (code !== undefined) replies.push(await disable(token, { password: PASSWORD, code }))
    for (const reply of replies) {
      expectError(reply, 'validation_failed')
      expect(faultsOf(reply)).toEqual([fault])
    }
  })

  test('wrong codes at activation are limited, and the right code waits for the window and is not counted', async () => {
    const { access_token: token } = await buildUser(service, app)
    const { secret } = (await setUp(token)).body
    for (let i = 0; i < 10; i += 1) expectError(await activate(token, 'abcdef'), 'invalid_two_factor_code')
    const refused = await activate(token, totpAt(secret, service.deps.clock()))
    expectError(refused, 'rate_limited')
    expect(refused.headers.get('retry-after')).toBe('300')
    service.advance(300)
    expect((await activate(token, totpAt(secret, service.deps.clock()))).status).toBe(200)
    expect(await countRows(service, 'rate_limits', { count: 0 })).toBeGreaterThan(0)
  })

  test('one of 50 concurrent activations gets recovery codes, and those are the valid ones', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const { secret } = (await setUp(token)).body
    await service.deps.db('rate_limits').delete()
    const code = totpAt(secret, service.deps.clock())
    const replies = await Promise.all(Array.from({ length: 50 }, () => activate(token, code)))
    const winners = replies.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    expect(
      replies.filter(({ status }) => status !== 200).every(({ body }) => /^(two_factor_active|rate_limited)$/.test(body.code)),
    ).toBe(true)
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(10)
    expect((await loginWithCode(service, user, app, winners[0]!.body.recovery_codes[0])).status).toBe(200)
  })

  test('the active seed after concurrent set-ups and activations is one that was given out', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const secrets = new Set<string>([(await setUp(token)).body.secret])
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const given = await setUp(token)
        if (given.status === 200) {
          secrets.add(given.body.secret)
          await activate(token, totpAt(given.body.secret, service.deps.clock()))
        }
      }),
    )
    if (!(await isActive(token))) return
    service.advance(30)
    const now = service.deps.clock()
    const codes = [...secrets].map((secret) => totpAt(secret, now))
    const statuses: number[] = []
    for (const code of codes) {
      await service.deps.db('lockouts').delete()
      statuses.push((await loginWithCode(service, user, app, code)).status)
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(10)
  })

  test('stored rows reveal neither seed nor recovery codes, and a seed opens only for its user', async () => {
    const one = await buildProtected()
    const other = await buildProtected()
    const rows = JSON.stringify([await service.deps.db('second_factors'), await service.deps.db('recovery_codes')])
    for (const { phone } of [one, other]) {
      expect(rows).not.toContain(phone.secret)
      for (const code of phone.recoveryCodes) {
        expect(rows).not.toContain(code)
        expect(rows).not.toContain(code.replace('-', ''))
      }
    }
    // A box that is copied into the row of another user does not open.
    const [box] = await service.deps.db('second_factors').where({ user_id: one.user.id }).pluck('totp_box')
    await service.deps.db('second_factors').where({ user_id: other.user.id }).update({ totp_box: box })
    expect(() => service.deps.secretBox.open(box, `second_factors:${other.user.id}`)).toThrow()
    expect(service.deps.secretBox.open(box, `second_factors:${one.user.id}`)).toBe(one.phone.secret)
    expect((await loginWithCode(service, other.user, app, other.phone.recoveryCodes[0])).status).toBe(200)
  })
})

describe('a login', () => {
  // covers login-second-factor error-second-factor
  test('a login with the right password and no code is challenged, with nothing else in the body', async () => {
    const { user } = await buildProtected()
    for (const two_factor_code of [undefined, null, '', '   ']) {
      expectChallenge(await loginWithCode(service, user, app, two_factor_code))
    }
    const reply = await service.call('POST', '/auth/login', {
      headers: { 'x-request-id': 'challenged-1' },
      body: { email: user.email, password: PASSWORD, app_code: app.code },
    })
    expect(reply.headers.get('x-request-id')).toBe('challenged-1')
    expectChallenge(reply)
  })

  // covers login-second-factor-after-password
  test('a login with a wrong password is never challenged, whatever the code', async () => {
    const { user, phone } = await buildProtected()
    for (const code of [undefined, phone.code(), phone.wrongCode(), phone.recoveryCodes[0]]) {
      expectError(await loginWithCode(service, user, app, code, 'not this password'), 'invalid_credentials')
    }
    // No code was checked, so none was used up.
    expect((await loginWithCode(service, user, app, phone.code())).status).toBe(200)
  })

  // covers login-second-factor-code
  test('a login accepts a code of the step before, the present one and the next, and no other', async () => {
    for (const [steps, passes] of [
      [-2, false],
      [-1, true],
      [0, true],
      [1, true],
      [2, false],
    ] as const) {
      const { user, phone } = await buildProtected()
      service.advance(90)
      const reply = await loginWithCode(service, user, app, phone.code(steps))
      if (passes) expect(reply.status, `${steps}`).toBe(200)
      else expectError(reply, 'invalid_two_factor_code', `${steps}`)
    }
  })

  test('a login spends its code and every step before it, and the next step is accepted', async () => {
    const { user, phone } = await buildProtected()
    service.advance(90)
    const [before, present, next] = [phone.code(-1), phone.code(), phone.code(1)]
    expect((await loginWithCode(service, user, app, present)).status).toBe(200)
    expectError(await loginWithCode(service, user, app, present), 'invalid_two_factor_code')
    expectError(await loginWithCode(service, user, app, before), 'invalid_two_factor_code')
    expect((await loginWithCode(service, user, app, next)).status).toBe(200)
    expectError(await loginWithCode(service, user, app, next), 'invalid_two_factor_code')
  })

  test('a login does not accept the code that activated the second factor', async () => {
    const { user, access_token: token } = await buildUser(service, app)
    const { secret } = (await setUp(token)).body
    const code = totpAt(secret, service.deps.clock())
    expect((await activate(token, code)).status).toBe(200)
    expectError(await loginWithCode(service, user, app, code), 'invalid_two_factor_code')
    expect((await loginWithCode(service, user, app, totpAt(secret, service.deps.clock() + 30_000))).status).toBe(200)
  })

  test('a login accepts the digits with any spacing, and only as a string', async () => {
    const { user, phone } = await buildProtected()
    const code = phone.code()
    const reply = await loginWithCode(service, user, app, Number(code))
    expectError(reply, 'validation_failed')
    expect(faultsOf(reply)).toEqual(['two_factor_code: invalid_type'])
    for (const wrong of [
      `${code}0`,
      code.slice(1),
      `+${code}`,
      `${code}.0`,
      '1e5',
      `0x${code}`,
      code.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))),
    ]) {
      await service.deps.db('lockouts').delete()
      expectError(await loginWithCode(service, user, app, wrong), 'invalid_two_factor_code', wrong)
    }
    expect((await loginWithCode(service, user, app, ` ${code.slice(0, 3)} ${code.slice(3)} `)).status).toBe(200)
  })

  test('a login accepts each recovery code once, in any case, with or without the hyphen', async () => {
    const { user, phone } = await buildProtected()
    const [plain, upper, bare, spaced] = phone.recoveryCodes as [string, string, string, string]
    const forms = [plain, upper.toUpperCase(), bare.replace('-', ''), ` ${spaced.replace('-', ' ')} `]
    for (const form of forms) expect((await loginWithCode(service, user, app, form)).status, form).toBe(200)
    for (const code of [plain, upper, bare, spaced]) {
      expectError(await loginWithCode(service, user, app, code), 'invalid_two_factor_code', code)
    }
    expect((await loginWithCode(service, user, app, phone.recoveryCodes[4])).status).toBe(200)
    const used = await auditEvents(service, { event: 'two_factor.recovery_code_used', user_id: user.id })
    expect(used.map(({ details }) => details)).toEqual([{ left: 9 }, { left: 8 }, { left: 7 }, { left: 6 }, { left: 5 }])
  })

  test('a login does not accept a recovery code of another user', async () => {
    const one = await buildProtected()
    const other = await buildProtected()
    expectError(await loginWithCode(service, one.user, app, other.phone.recoveryCodes[0]), 'invalid_two_factor_code')
    expect((await loginWithCode(service, other.user, app, other.phone.recoveryCodes[0])).status).toBe(200)
  })

  test('a login is challenged if the second factor is turned on while its password is checked', async () => {
    const racing = await buildService()
    const hasher = await countBcrypts(racing)
    const through = await buildApp(racing, { auto_grant_on_signup: true })
    const { user, access_token: token } = await buildUser(racing, through)
    hasher.onVerify = () => enableTwoFactor(racing, token)
    expectChallenge(await racing.login(user.email, through.code))
    expect((await racing.call('GET', '/auth/sessions', { token })).body.items).toHaveLength(1)
  })

  test('a login that is refused after its code was checked has spent the code', async () => {
    const closed = await buildApp(service)
    const { user, phone } = await buildProtected()
    const [recovery] = phone.recoveryCodes
    const code = phone.code()
    expectChallenge(await loginWithCode(service, user, closed))
    expectError(await loginWithCode(service, user, closed, phone.wrongCode()), 'invalid_two_factor_code')
    expectError(await loginWithCode(service, user, closed, code), 'app_access_denied')
    expectError(await loginWithCode(service, user, closed, recovery), 'app_access_denied')
    expectError(await loginWithCode(service, user, app, code), 'invalid_two_factor_code')
    expectError(await loginWithCode(service, user, app, recovery), 'invalid_two_factor_code')
    expect((await loginWithCode(service, user, app, phone.code(1))).status).toBe(200)
  })

  test('a login of a suspended user says so only after password and code', async () => {
    const { user, phone } = await buildProtected()
    await closeAccount(service, user.id, 'suspended')
    expectChallenge(await loginWithCode(service, user, app))
    expectError(await loginWithCode(service, user, app, phone.wrongCode()), 'invalid_two_factor_code')
    expectError(await loginWithCode(service, user, app, phone.code()), 'account_suspended')
  })

  test('a login of a user without a second factor ignores a code', async () => {
    const { user } = await buildUser(service, app)
    for (const code of ['123456', 'nonsense', '']) expect((await loginWithCode(service, user, app, code)).status).toBe(200)
  })

  test('a login is audited with the reason of its failure and without a code', async () => {
    const { user, phone } = await buildProtected()
    await loginWithCode(service, user, app)
    await loginWithCode(service, user, app, phone.wrongCode())
    await loginWithCode(service, user, app, phone.code())
    const failed = await auditEvents(service, { event: 'login.failed', user_id: user.id })
    expect(failed.map(({ reason }) => reason)).toEqual(['two_factor_required', 'invalid_two_factor_code'])
    expect(await countRows(service, 'audit_events', { event: 'login.success', user_id: user.id })).toBe(1)
    const all = JSON.stringify(await service.deps.db('audit_events').where({ user_id: user.id }))
    for (const secret of [phone.secret, phone.code(), phone.wrongCode(), PASSWORD]) expect(all).not.toContain(`"${secret}"`)
  })

  test('one of many concurrent logins with one code succeeds, with a code of the app and with a recovery code', async () => {
    const on = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '1000', AUTH_RATE_LIMIT_ACCOUNT: 'off' }))
    const open = await buildApp(on, { auto_grant_on_signup: true })
    for (let round = 0; round < 3; round += 1) {
      const { user, phone } = await buildProtected(on, open)
      const sessions = await countRows(on, 'sessions', { user_id: user.id })
      for (const code of [phone.code(), phone.recoveryCodes[0]]) {
        const replies = await Promise.all(Array.from({ length: 50 }, () => loginWithCode(on, user, open, code)))
        expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
        expect(replies.filter(({ body }) => body.code === 'invalid_two_factor_code')).toHaveLength(49)
      }
      expect(await countRows(on, 'sessions', { user_id: user.id })).toBe(sessions + 2)
    }
  })
})

describe('the limits of second-factor codes', () => {
  test('a challenge neither counts as a failure nor clears failures, and gives the attempt back', async () => {
    const on = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '5/300' }))
    const open = await buildApp(on, { auto_grant_on_signup: true })
    const { user, phone } = await buildProtected(on, open)
    await loginWithCode(on, user, open, undefined, 'not this password')
    await loginWithCode(on, user, open, phone.wrongCode())
    const counted = { passwords: 1, codes: 1 }
    expect([await failuresOf(on, user), await attemptsOf(on)]).toEqual([counted, 2])
    for (let i = 0; i < 10; i += 1) expectChallenge(await loginWithCode(on, user, open))
    expect([await failuresOf(on, user), await attemptsOf(on)]).toEqual([counted, 2])
    for (let i = 0; i < 2; i += 1) expectError(await loginWithCode(on, user, open, phone.wrongCode()), 'invalid_two_factor_code')
    expect([await failuresOf(on, user), await attemptsOf(on)]).toEqual([{ passwords: 1, codes: 3 }, 4])
    // Locked: the reply no longer shows the challenge, or that a code is right.
    expectError(await loginWithCode(on, user, open), 'account_locked')
    expectError(await loginWithCode(on, user, open, phone.code()), 'rate_limited')
    on.advance(900)
    expect((await loginWithCode(on, user, open, phone.recoveryCodes[0])).status).toBe(200)
    expect([await failuresOf(on, user), await attemptsOf(on)]).toEqual([{ passwords: 0, codes: 0 }, 0])
  })

  test('wrong codes lock at the threshold, even all at once, and the right code is refused after it', async () => {
    const on = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '5', AUTH_RATE_LIMIT_ACCOUNT: 'off' }))
    const open = await buildApp(on, { auto_grant_on_signup: true })
    const { user, phone } = await buildProtected(on, open)
    const replies = await Promise.all(Array.from({ length: 50 }, () => loginWithCode(on, user, open, phone.wrongCode())))
    expect(replies.filter(({ status }) => status === 401)).toHaveLength(5)
    expect(replies.filter(({ status }) => status === 423)).toHaveLength(45)
    expect(await failuresOf(on, user)).toEqual({ passwords: 0, codes: 5 })
    expectError(await loginWithCode(on, user, open, phone.code()), 'account_locked')
    expect(await auditEvents(on, { event: 'user.locked', user_id: user.id })).toHaveLength(1)
  })

  describe('the lock after wrong codes', () => {
    const settings = { AUTH_LOCKOUT_THRESHOLD: '3', AUTH_LOCKOUT_SECONDS: '900', AUTH_RATE_LIMIT_ACCOUNT: 'off' }

    async function buildGuessed() {
      const on = freezeClock(await buildService(settings))
      const open = await buildApp(on, { auto_grant_on_signup: true })
      const protected_ = await buildProtected(on, open)
      const guess = () => loginWithCode(on, protected_.user, open, protected_.phone.wrongCode())
      return { on, open, ...protected_, guess }
    }

    test('each further lock lasts twice as long, up to six hours, and one mail reports them', async () => {
      const { on, open, user, phone, guess } = await buildGuessed()
      for (const minutes of [15, 30, 60, 120, 240, 360, 360]) {
        for (let i = 0; i < 3; i += 1) expectError(await guess(), 'invalid_two_factor_code')
        const locked = await loginWithCode(on, user, open, phone.code())
        expectError(locked, 'account_locked')
        expect(locked.headers.get('retry-after')).toBe(String(minutes * 60))
        on.advance(minutes * 60)
      }
      const notices = await on.deps.db('outbox').where({ user_id: user.id, name: 'two_factor_locked' })
      expect(notices.map(({ destination }) => destination)).toEqual([user.email])
    })

    test('wrong codes are forgotten after a complete login or an unlock by an admin, not after time or a password reset', async () => {
      const { on, open, user, phone, guess } = await buildGuessed()
      const lockedFor = async () => {
        for (let i = 0; i < 3; i += 1) expectError(await guess(), 'invalid_two_factor_code')
        return (await guess()).headers.get('retry-after')
      }
      expect(await lockedFor()).toBe('900')
      on.advance(900)
      await removeExpired(on.deps)
      expect(await lockedFor()).toBe('1800')
      await on.admin('POST', `/admin/users/${user.id}/unlock`)
      for (let i = 0; i < 2; i += 1) await guess()
      // Weeks later, the two wrong codes still count.
      on.advance(20 * 86_400)
      await removeExpired(on.deps)
      expectError(await guess(), 'invalid_two_factor_code')
      expect((await guess()).headers.get('retry-after')).toBe('900')

      const order = { purpose: 'reset_password', userId: user.id, app: open, email: user.email, redirectUrl: null } as const
      const issued = await issueMailToken(on.deps, order)
      const body = { token: 'token' in issued && issued.token, password: PASSWORD }
      expect((await on.call('POST', '/auth/password/reset', { body })).status).toBe(204)
      expectError(await loginWithCode(on, user, open, phone.code()), 'account_locked')
      on.advance(900)
      expect((await loginWithCode(on, user, open, phone.code())).status).toBe(200)
      expect(await lockedFor()).toBe('900')
    })

    test('the lock refuses every call that takes a code, and leaves the other calls open', async () => {
      const { on, open, user, token, phone, guess } = await buildGuessed()
      for (let i = 0; i < 2; i += 1) await guess()
      const body = { password: PASSWORD, code: phone.wrongCode() }
      expectError(await on.call('POST', '/auth/2fa/disable', { token, body }), 'invalid_two_factor_code')
      const tries = [
        () => loginWithCode(on, user, open, phone.code()),
        () => on.register(user.email, open.code, { mode: 'register_or_login', two_factor_code: phone.code() }),
        () => on.call('POST', '/auth/2fa/disable', { token, body: { password: PASSWORD, code: phone.code() } }),
      ]
      for (const enter of tries) expectError(await enter(), 'account_locked')
      // A wrong password is still reported as such, and counted separately.
      expectError(await loginWithCode(on, user, open, phone.code(), 'not this password'), 'invalid_credentials')
      expect(await failuresOf(on, user)).toEqual({ passwords: 1, codes: 3 })
      await on.admin('DELETE', `/admin/users/${user.id}/2fa`)
      expect((await loginWithCode(on, user, open)).status).toBe(200)
      expect(await failuresOf(on, user)).toEqual({ passwords: 0, codes: 0 })
    })

    test('a set-up that is not active yet counts no wrong codes', async () => {
      const { on, open } = await buildGuessed()
      const { user, access_token } = await buildUser(on, open)
      await on.call('POST', '/auth/2fa/setup', { token: access_token })
      for (let i = 0; i < 5; i += 1)
        await on.call('POST', '/auth/2fa/activate', { token: access_token, body: { code: '000000' } })
      expect(await failuresOf(on, user)).toEqual({ passwords: 0, codes: 0 })
    })
  })
})

describe('register_or_login', () => {
  const enter = (email: string, extra: object = {}) => service.register(email, app.code, { mode: 'register_or_login', ...extra })

  test('register_or_login of an existing user asks for the second factor', async () => {
    const { user, phone } = await buildProtected()
    expectChallenge(await enter(user.email))
    expectChallenge(await enter(user.email, { two_factor_code: ' ' }))
    expectError(await enter(user.email, { two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
    expectError(await enter(user.email, { two_factor_code: phone.code(), password: 'not this password' }), 'invalid_credentials')
    const entered = await enter(user.email, { two_factor_code: phone.code() })
    expect([entered.status, entered.body.created, entered.body.access]).toEqual([200, false, 'granted'])
    expect(entered.body.access_token).toEqual(expect.any(String))
    const reply = await enter(user.email, { two_factor_code: 123456 })
    expectError(reply, 'validation_failed')
  })

  test('register_or_login spends no invitation before the second factor is shown', async () => {
    const { user, phone } = await buildProtected()
    const organization = await buildOrganization(service)
    const invite_token = await buildInvitation(service, { organizationId: organization.id })
    expectChallenge(await enter(user.email, { invite_token }))
    expectError(await enter(user.email, { invite_token, two_factor_code: phone.wrongCode() }), 'invalid_two_factor_code')
    const entered = await enter(user.email, { invite_token, two_factor_code: phone.code() })
    expect(entered.body.organization).toMatchObject({ id: organization.id })
  })

  test('register_or_login of a new user needs no code and ignores one', async () => {
    const entered = await enter(`new-${randomUUID()}@example.com`, { two_factor_code: '123456' })
    expect([entered.status, entered.body.created]).toEqual([201, true])
  })

  test('a refresh needs no code', async () => {
    const { user, phone } = await buildProtected()
    const { body } = await loginWithCode(service, user, app, phone.code())
    const refreshed = await service.call('POST', '/auth/refresh', { body: { refresh_token: body.refresh_token } })
    expect(refreshed.status).toBe(200)
  })
})

describe('disabling', () => {
  test('disabling takes password and code, and afterwards a login asks for no code', async () => {
    const { user, token, phone } = await buildProtected()
    expectError(await disable(token, { password: PASSWORD, code: phone.wrongCode() }), 'invalid_two_factor_code')
    expectError(await disable(token, { password: 'not this password', code: phone.code() }), 'invalid_credentials')
    expect(await isActive(token)).toBe(true)
    const done = await disable(token, { password: PASSWORD, code: phone.code() })
    expect([done.status, done.body]).toEqual([204, ''])
    expect(await isActive(token)).toBe(false)
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(0)
    expect((await loginWithCode(service, user, app)).status).toBe(200)
    expectError(await disable(token, { password: PASSWORD, code: phone.code(1) }), 'two_factor_not_set_up')
    const events = (await auditEvents(service, { user_id: user.id })).map(({ event }) => event)
    expect(events).toEqual(expect.arrayContaining(['two_factor.set_up', 'two_factor.activated', 'two_factor.disabled']))
    const failed = await auditEvents(service, { event: 'reauthentication.failed', user_id: user.id })
    expect(failed.map(({ reason }) => reason)).toEqual(['invalid_two_factor_code', 'wrong_password'])

    // Setting it up again creates another seed and other recovery codes.
    const again = await enableTwoFactor(service, token)
    expect(again.secret).not.toBe(phone.secret)
    expectError(await loginWithCode(service, user, app, phone.recoveryCodes[0]), 'invalid_two_factor_code')
    expect((await loginWithCode(service, user, app, again.recoveryCodes[0])).status).toBe(200)
  })

  test('disabling accepts a recovery code', async () => {
    const { token, phone } = await buildProtected()
    expect((await disable(token, { password: PASSWORD, code: phone.recoveryCodes[0]!.toUpperCase() })).status).toBe(204)
    expect(await isActive(token)).toBe(false)
  })

  test('disabling does not accept a code that a login has spent', async () => {
    const { user, token, phone } = await buildProtected()
    const code = phone.code()
    expect((await loginWithCode(service, user, app, code)).status).toBe(200)
    expectError(await disable(token, { password: PASSWORD, code }), 'invalid_two_factor_code')
  })

  test('disabling counts wrong passwords per session, and wrong codes together with those at a login', async () => {
    const on = freezeClock(await buildService({ AUTH_LOCKOUT_THRESHOLD: '3', AUTH_RATE_LIMIT_ACCOUNT: '7/300' }))
    const open = await buildApp(on, { auto_grant_on_signup: true })
    const { user, token, phone } = await buildProtected(on, open)
    const tryTo = (body: object) => on.call('POST', '/auth/2fa/disable', { token, body })
    expectError(await tryTo({ password: PASSWORD, code: phone.wrongCode() }), 'invalid_two_factor_code')
    for (const password of ['not this password', 'nor this one', 'nor that'])
      expectError(await tryTo({ password, code: phone.code() }), 'invalid_credentials')
    expect([await failuresOf(on, user), await attemptsOf(on)]).toEqual([{ passwords: 3, codes: 1 }, 4])
    const locked = await tryTo({ password: PASSWORD, code: phone.code() })
    expectError(locked, 'account_locked')
    expect(locked.headers.get('retry-after')).toBe('900')
    expectError(await loginWithCode(on, user, open, phone.wrongCode()), 'invalid_two_factor_code')
    expect(await failuresOf(on, user)).toEqual({ passwords: 3, codes: 2 })
    for (let count = 0; count < 2; count += 1)
      expectError(await tryTo({ password: PASSWORD, code: phone.code() }), 'account_locked')
    expectError(await tryTo({ password: PASSWORD, code: phone.code() }), 'rate_limited')
    expect((await loginWithCode(on, user, open, phone.code())).status).toBe(200)
    on.advance(900)
    const refreshed = await on.call('POST', '/auth/2fa/disable', { token, body: { password: PASSWORD, code: phone.code() } })
    expectError(refreshed, 'token_expired')
    const { body } = await loginWithCode(on, user, open, phone.code())
    expect(
      (
        await on.call('POST', '/auth/2fa/disable', {
          token: body.access_token,
          body: { password: PASSWORD, code: phone.code(1) },
        })
      ).status,
    ).toBe(204)
  })

  test('disabling clears no failures, and a complete login does', async () => {
    const { user, token, phone } = await buildProtected()
    await loginWithCode(service, user, app, undefined, 'not this password')
    expect((await disable(token, { password: PASSWORD, code: phone.code() })).status).toBe(204)
    expect((await failuresOf(service, user)).passwords).toBe(1)
    expect((await loginWithCode(service, user, app)).status).toBe(200)
    expect((await failuresOf(service, user)).passwords).toBe(0)
  })

  test('one of many concurrent calls disables the second factor', async () => {
    const { user, token, phone } = await buildProtected()
    const replies = await Promise.all(phone.recoveryCodes.map((code) => disable(token, { password: PASSWORD, code })))
    expect(replies.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(await countRows(service, 'audit_events', { event: 'two_factor.disabled', user_id: user.id })).toBe(1)
    expect(await isActive(token)).toBe(false)
  })
})

describe('an admin', () => {
  test('an admin removes a second factor, and is refused if none is active', async () => {
    const { user, token, phone } = await buildProtected()
    const path = `/admin/users/${user.id}/2fa`
    const done = await service.admin('DELETE', path)
    expect([done.status, done.body]).toEqual([204, ''])
    expect(await isActive(token)).toBe(false)
    expect((await loginWithCode(service, user, app)).status).toBe(200)
    expect(await countRows(service, 'recovery_codes', { user_id: user.id })).toBe(0)
    const [event] = await auditEvents(service, { event: 'two_factor.removed', user_id: user.id })
    expect(event).toMatchObject({ actor_type: 'user', actor_id: expect.any(String) })
    expect(event.actor_id).not.toBe(user.id)

    expectError(await service.admin('DELETE', path), 'not_found')
    await setUp(token)
    expectError(await service.admin('DELETE', path), 'not_found')
    expectError(await service.admin('DELETE', `/admin/users/${randomUUID()}/2fa`), 'not_found')
    expectError(await service.admin('DELETE', '/admin/users/nobody/2fa'), 'not_found')
    expectError(await service.call('DELETE', path, { token }), 'system_admin_required')
    expect(phone.recoveryCodes).toHaveLength(10)
  })
})

test('every two-factor route of a user needs the access token of a user', async () => {
  for (const verb of ['setup', 'activate', 'disable']) {
    expectError(await service.call('POST', `/auth/2fa/${verb}`, { body: {} }), 'token_missing')
    expectError(await service.call('POST', `/auth/2fa/${verb}`, { token: 'gsa_nothing', body: {} }), 'token_invalid')
  }
})

test('a rotated encryption key opens what the previous key sealed, recovery codes too', async () => {
  const { user, phone } = await buildProtected()
  const [current] = service.deps.config.encryptionKeys
  const { SecretBox } = await import('../../packages/server/src/lib/secrets.ts')
  const before = { box: service.deps.secretBox, keys: service.deps.config.encryptionKeys }
  const keys: [Buffer, Buffer] = [Buffer.alloc(32, 9), current]
  service.deps.secretBox = new SecretBox(keys)
  service.deps.config.encryptionKeys = keys
  try {
    expect((await loginWithCode(service, user, app, phone.code())).status).toBe(200)
    expect((await loginWithCode(service, user, app, phone.recoveryCodes[0])).status).toBe(200)
  } finally {
    service.deps.secretBox = before.box
    service.deps.config.encryptionKeys = before.keys
  }
})
